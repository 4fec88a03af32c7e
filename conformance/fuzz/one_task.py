"""Makes the library's test driver run all sub-topologies as one task, as Kafka's test driver does.

Each record is processed to its end before the next one is taken from an internal topic, by `order.topic_order`. Then
all stream-time punctuations are due by the highest timestamp of all records. All wall-clock punctuations that are due
come before the records that they send to internal topics. See `their_rules`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from conformance.fuzz.order import places_of
from headrace._core.task.chunk import Chunk
from headrace._core.task.decoding import Decoder
from headrace._core.task.order import Order
from headrace._core.time.punctuation import UNKNOWN, Schedule, after
from headrace._runtime.local_task import Arrival, Message
from headrace.model.processor import PunctuationType

_extract = Decoder.with_extracted_times


def process(self: Any, inputs: dict[tuple[str, int], list[Arrival]], *, tick: bool) -> list[tuple[str, Message]]:
    """Replaces `LocalRuntime._process`, which runs stage after stage."""
    one_task = _OneTask(self)
    if tick:
        one_task.punctuate(PunctuationType.WALL_CLOCK_TIME, self.wall_clock_ms)
    for arrivals in inputs.values():
        for arrival in arrivals:
            one_task.enqueue(arrival)
    return one_task.outputs_of_all()


def extract_times(self: Any, chunk: Chunk) -> Chunk:
    """Replaces `Decoder.with_extracted_times`; also notes the highest timestamp."""
    timed = _extract(self, chunk)
    self.noted_ms = max(timed.timestamps.tolist(), default=UNKNOWN)
    return timed


def do_nothing(*_: Any) -> None:
    """Replaces the methods by which processors act on the time of their own stage."""


class _OneTask:
    """The tasks of all stages, for one step of the test driver."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self._places = places_of(runtime._graph)
        self._queues: dict[str, deque[Arrival]] = {}
        self._outputs: list[tuple[str, Message]] = []

    def enqueue(self, arrival: Arrival) -> None:
        self._queues.setdefault(arrival.topic, deque()).append(arrival)

    def outputs_of_all(self) -> list[tuple[str, Message]]:
        """Processes records until all queues are empty, and returns what was written."""
        runtime = self._runtime
        while waiting := [topic for topic, queue in self._queues.items() if queue]:
            topic = min(waiting, key=self._turn)
            time_ms = self._run(topic, [self._queues[topic].popleft()])
            if topic not in runtime._graph.global_topics:
                runtime.time_ms = max(getattr(runtime, "time_ms", UNKNOWN), time_ms)
                self.punctuate(PunctuationType.STREAM_TIME, runtime.time_ms)
        return self._outputs

    def punctuate(self, kind: PunctuationType, clock_ms: int) -> None:
        """Runs what is due in all stages, by due time."""
        while due := sorted(self._due(kind, clock_ms), key=lambda one: one[:3]):
            due_ms, stage, _, schedule = due[0]
            local = self._runtime._task(stage, 0)
            task = local._task
            task.processors._agenda._set_due(schedule, after(clock_ms, schedule.grid.interval_ms, due_ms))
            task.context.order, task.context.position = Order.of_clock(clock_ms), 0
            task.processors._run(schedule, clock_ms)
            self._route(stage, local._drain())

    def _turn(self, topic: str) -> tuple[int, int, int]:
        stage, rank = self._places.get(topic, (-1, -1))
        return stage, self._queues[topic][0].message.timestamp_ms, rank

    def _run(self, topic: str, arrivals: list[Arrival]) -> int:
        """Runs records of one topic in its stage; returns their highest timestamp."""
        runtime, time_ms = self._runtime, UNKNOWN
        for stage, blueprint in enumerate(runtime._blueprints):
            if topic in blueprint.sub.source_topics or topic in blueprint.counted_tables:
                task = runtime._task(stage, 0)
                written = list(task.run(arrivals, runtime.wall_clock_ms, tick=False))
                time_ms = getattr(task._task._decoder, "noted_ms", UNKNOWN)
                self._route(stage, written)
        return time_ms

    def _route(self, stage: int, written: Iterable[tuple[str, Order, Message]]) -> None:
        """Passes written records on. Records in a relay are processed at once, as they never leave Kafka's task."""
        handed_over: dict[str, list[Arrival]] = {}
        for topic, order, message in written:
            arrival = Arrival(topic, (stage, 0), order, message)
            if topic in self._runtime.partitions._relays:
                handed_over.setdefault(topic, []).append(arrival)
            elif topic in self._runtime.partitions.internal:
                self.enqueue(arrival)
            else:
                self._outputs.append((topic, message._replace(partition=0)))
        for topic, arrivals in handed_over.items():
            self._run(topic, arrivals)

    def _due(self, kind: PunctuationType, clock_ms: int) -> Iterator[tuple[int, int, int, Schedule]]:
        for stage, blueprint in enumerate(self._runtime._blueprints):
            if blueprint.has_processors:
                agenda = self._runtime._task(stage, 0)._task.processors._agenda
                for schedule in agenda.memory.schedules:
                    if schedule.grid.kind is kind:
                        if schedule.due_ms == UNKNOWN:
                            agenda._set_due(schedule, schedule.first_due(clock_ms))
                        if schedule.due_ms <= clock_ms:
                            yield schedule.due_ms, stage, schedule.number, schedule
