"""The progress of an application: its counters, and the records that remain. Reads files only, from any process."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from headrace._core.metrics import Counts
from headrace._graph.configured import configured
from headrace._graph.graph import Graph
from headrace._graph.patterns import with_matching_topics
from headrace._runtime.spark.planning.clock import system_clock
from headrace._runtime.spark.planning.first_offsets import resets_by_topic
from headrace._runtime.spark.planning.plan import offset_key
from headrace._runtime.spark.state_directory.log import open_log
from headrace._runtime.spark.topics.backend import backend_of
from headrace._state.log.entries import ApplicationState
from headrace._state.log.state_log import LogView
from headrace.config import StreamsConfig
from headrace.errors import TopicError
from headrace.topics.kafka.cluster import Place

_TOPIC = "topic "


@dataclass(frozen=True)
class Totals:
    """Totals since the application's first start; `waiting` is `None` if the topics cannot be read."""

    batches: int
    records_in: int
    records_out: int
    dead_letters: int
    waiting: int | None

    def since(self, start: Totals) -> Totals:
        """The differences to earlier totals, except for `waiting`, which is the current number."""
        return Totals(
            self.batches - start.batches,
            self.records_in - start.records_in,
            self.records_out - start.records_out,
            self.dead_letters - start.dead_letters,
            self.waiting,
        )


class Meter:
    """Reads the totals of one application."""

    def __init__(self, graph: Graph, config: StreamsConfig) -> None:
        self._graph = configured(graph, config)
        self._reset = config.offset_reset
        self._dead_letters = config.dead_letter_topic
        self._log = open_log(str(config.state_dir.absolute()), config.application_id)
        self._backend = backend_of(config)
        self._start = -1
        self._first: dict[Place, int] = {}

    def read(self) -> Totals:
        view = self._log.view()
        state = ApplicationState() if view is None else view.state
        counts = state.counts
        return Totals(
            batches=state.batch + 1,
            records_in=sum(counts.get(source.name, {}).get("records_in", 0) for source in self._graph.user_sources),
            records_out=sum(_written(counts, topic) for topic in self._written_topics(counts)),
            dead_letters=0 if self._dead_letters is None else _written(counts, self._dead_letters),
            waiting=self._waiting(view, state.offsets),
        )

    def _written_topics(self, counts: Counts) -> set[str]:
        """The topics with results; dead letters are not results."""
        topics = set(self._graph.sink_topics)
        if self._graph.dynamic_sinks:
            topics |= {name.removeprefix(_TOPIC) for name in counts if name.startswith(_TOPIC)}
        return topics - {self._dead_letters}

    def _waiting(self, view: LogView | None, done: dict[str, int]) -> int | None:
        """The number of records in the source topics after the offsets of the last committed batch."""
        try:
            self._find_topics(view)
            ends = self._backend.ends(list(self._first))
        except TopicError:
            return None
        return sum(
            max(0, end - done.get(offset_key(place), first))
            for (place, first), end in zip(self._first.items(), ends, strict=True)
        )

    def _find_topics(self, view: LogView | None) -> None:
        """Looks up the source topics and their first offsets, once per start: a pattern may then match other topics."""
        start = 0 if view is None else view.epoch
        if start == self._start:
            return
        topics = self._backend.topics()
        graph = with_matching_topics(self._graph, topics)
        resets = resets_by_topic(graph, self._reset)
        places = [(topic, p) for topic in graph.source_topics for p in range(topics.get(topic, 0))]
        known = {} if view is None else view.start.first_offsets
        first = {place: known[offset_key(place)] for place in places if offset_key(place) in known}
        for reset in set(resets.values()):
            new = [place for place in places if place not in first and resets[place[0]] == reset]
            first |= zip(new, self._backend.reset_offsets(new, reset, system_clock()), strict=True)
        self._first, self._start = first, start


class Rate:
    """Records per second over the last few seconds."""

    def __init__(self, over_s: float = 10.0) -> None:
        self._over_s = over_s
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, now_s: float, records: int) -> float:
        self._seen.append((now_s, records))
        while len(self._seen) > 2 and self._seen[1][0] <= now_s - self._over_s:
            self._seen.popleft()
        then_s, before = self._seen[0]
        return (records - before) / (now_s - then_s) if now_s > then_s else 0.0


def _written(counts: Counts, topic: str) -> int:
    return counts.get(f"{_TOPIC}{topic}", {}).get("records_out", 0)
