"""The progress of an application: its counters, and the records that remain. Reads files only, from any process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from headrace._core.metrics import Counts
from headrace._graph.graph import Graph
from headrace._graph.nodes import Source
from headrace._runtime.spark.planning.plan import offset_key
from headrace._runtime.spark.state_directory.log import open_log
from headrace._runtime.spark.topics.backend import backend_of
from headrace._state.log.entries import ApplicationState
from headrace.config import StreamsConfig
from headrace.errors import TopicError

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
        """The differences to earlier totals; `waiting` stays as it is."""
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
        self._sources = [node for node in graph.nodes if isinstance(node, Source) and not node.internal]
        self._sinks = graph.sink_topics
        self._has_dynamic_sinks = bool(graph.dynamic_sinks)
        self._dead_letters = config.dead_letter_topic
        self._log = open_log(str(config.state_dir.absolute()), config.application_id)
        self._backend = backend_of(config)
        counts = self._backend.topics()
        self._places = [(topic, p) for topic in graph.source_topics for p in range(counts.get(topic, 0))]
        self._first = self._backend.first_offsets(self._places, {})

    def read(self) -> Totals:
        view = self._log.view()
        state = ApplicationState() if view is None else view.state
        counts = state.counts
        return Totals(
            batches=state.batch + 1,
            records_in=sum(counts.get(source.name, {}).get("records_in", 0) for source in self._sources),
            records_out=sum(_written(counts, topic) for topic in self._written_topics(counts)),
            dead_letters=0 if self._dead_letters is None else _written(counts, self._dead_letters),
            waiting=self._waiting(state.offsets),
        )

    def _written_topics(self, counts: Counts) -> Iterable[str]:
        if not self._has_dynamic_sinks:
            return self._sinks
        return [name.removeprefix(_TOPIC) for name in counts if name.startswith(_TOPIC)]

    def _waiting(self, done: dict[str, int]) -> int | None:
        """The number of records in the source topics after the offsets of the last committed batch."""
        try:
            ends = self._backend.ends(self._places)
        except TopicError:
            return None
        return sum(
            max(0, end - done.get(offset_key(place), self._first.get(offset_key(place), 0)))
            for place, end in zip(self._places, ends, strict=True)
        )


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
