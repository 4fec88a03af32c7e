"""Where an application begins to read each topic-partition for which it has committed no offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from headrace._graph.graph import Graph
from headrace._graph.nodes import Source
from headrace._graph.patterns import pattern_key
from headrace._runtime.spark.planning.plan import Plan, offset_key
from headrace._state.log.state_log import LogView
from headrace.errors import TopicError
from headrace.model.offset_reset import AutoOffsetReset
from headrace.topics.kafka.cluster import Place

_EARLIEST = AutoOffsetReset.earliest()


class OffsetSource(Protocol):
    """The method of `TopicBackend` that `first_offsets` needs."""

    def reset_offsets(self, places: Sequence[Place], reset: AutoOffsetReset, now_ms: int) -> list[int]:
        """The first offset to read in each topic-partition; a reset by duration counts back from `now_ms`."""


def topic_of(key: str) -> str:
    """The topic of a topic-partition, by its name in the state log."""
    return key.rpartition("-")[0]


def reset_of(source: Source, default: AutoOffsetReset) -> AutoOffsetReset:
    """The offset reset of a source. A global table needs all its rows, so the default does not apply to it."""
    return source.offset_reset or (_EARLIEST if source.is_global else default)


def resets_by_topic(graph: Graph, default: AutoOffsetReset) -> dict[str, AutoOffsetReset]:
    """The offset reset of every user topic that the topology reads."""
    return {topic: reset_of(source, default) for source in graph.user_sources for topic in source.topics}


def first_offsets(
    topics: OffsetSource, plan: Plan, default: AutoOffsetReset, before: LogView | None, now_ms: int
) -> dict[str, int]:
    """The first offset of every topic-partition of a plan, by its name in the state log.

    A first offset that an earlier start chose is kept. If nothing has been read from there yet and retention has
    deleted its record, the topic-partition is read from its beginning. The offset reset of a source decides about
    topics that are new to the application. Partitions that were added to a known topic, and topics that appeared since
    an earlier start read the same pattern, are read from their beginning.

    Raises:
        TopicError: if a topic is new to the application, and the offset reset of its source is "none".
    """
    known: Mapping[str, int] = {} if before is None else before.start.first_offsets
    committed: Mapping[str, int] = {} if before is None else before.state.offsets
    topics_before = {topic_of(key) for key in (*known, *committed)}
    resets = resets_by_topic(plan.graph, default)
    appeared = _topics_of_patterns(plan.graph, () if before is None else before.start.patterns) - topics_before
    offsets = {key: known[key] for key in map(offset_key, plan.places) if key in known}
    unread = [place for place in plan.places if offset_key(place) in known and offset_key(place) not in committed]
    begins = topics.reset_offsets(unread, _EARLIEST, now_ms) if unread else []
    offsets |= {
        offset_key(place): max(known[offset_key(place)], begin) for place, begin in zip(unread, begins, strict=True)
    }
    by_reset: dict[AutoOffsetReset, list[Place]] = {}
    for place in plan.places:
        if offset_key(place) not in known and offset_key(place) not in committed:
            is_added = place[0] in topics_before or place[0] in appeared
            by_reset.setdefault(_EARLIEST if is_added else resets[place[0]], []).append(place)
    _refuse_unknown(plan, by_reset.pop(AutoOffsetReset.none(), ()))
    for reset, places in by_reset.items():
        found = topics.reset_offsets(places, reset, now_ms)
        offsets |= {offset_key(place): offset for place, offset in zip(places, found, strict=True)}
    return offsets


def _topics_of_patterns(graph: Graph, patterns: Iterable[str]) -> set[str]:
    read = set(patterns)
    return {
        topic
        for source in graph.user_sources
        if source.pattern is not None and pattern_key(source.pattern) in read
        for topic in source.topics
    }


def _refuse_unknown(plan: Plan, places: Sequence[Place]) -> None:
    if places:
        topic, partition = places[0]
        message = (
            f"Application {plan.application_id!r} has no position in topic {topic!r}, partition {partition}, and its "
            f"offset reset is 'none', which refuses to choose one. If its state in {plan.state_dir!r} is lost, restore "
            "it; to begin anew, start once with 'earliest', 'latest' or AutoOffsetReset.by_duration(...)."
        )
        raise TopicError(message)
