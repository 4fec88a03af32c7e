"""One task of the test driver: runs the records of one step, and holds its changes until they are committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from headrace._core.columnar.batch import Batch
from headrace._core.metrics import Counts, Metrics
from headrace._core.task.chunk import Chunk, RecordColumns
from headrace._core.task.order import Order, concatenated
from headrace._core.task.task import Task
from headrace._runtime.assemble import TaskBlueprint
from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore
from headrace.model.record import Headers

if TYPE_CHECKING:
    from headrace._runtime.local import LocalRuntime


_BY_KEY = -1


class Message(NamedTuple):
    """A record as a topic stores it."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers
    partition: int = 0


class Arrival(NamedTuple):
    """A record for a task. `origin` identifies the task that wrote it: its stage and its partition."""

    topic: str
    origin: tuple[int, int]
    order: Order
    message: Message


class LocalTask:
    """A task with its uncommitted changes. `durable` has the committed contents of its stores."""

    def __init__(
        self,
        blueprint: TaskBlueprint,
        partition: int,
        durable: dict[str, MemoryStore],
        runtime: LocalRuntime,
    ) -> None:
        self._runtime = runtime
        self._handed_over = blueprint.sub.handed_over
        self._durable = durable
        self._stores = {name: OverlayStore(store) for name, store in durable.items()}
        self._metrics = Metrics()
        self._written: list[tuple[str, int, Message]] = []
        self._task: Task = blueprint.make_task(
            partition,
            self._stores,
            self,
            self._metrics,
            runtime.places,
            columnar=False,
            flush_each_record=True,
            system_time_ms=runtime.wall_clock_ms,
        )

    def add_topic(self, topic: str, blueprint: TaskBlueprint) -> None:
        """Reads one more topic, if the sub-topology of the new blueprint does."""
        for node in blueprint.sub.sources:
            if topic in node.topics:
                self._task.add_topic(topic, node.name, blueprint.extractors.get(topic))

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        chosen = _BY_KEY if partition is None else partition
        self._written.append((topic, self._task.context.position, Message(key, value, timestamp_ms, headers, chosen)))

    def partitions_of(self, topic: str) -> int:
        """The number of partitions of an output topic that the topology names."""
        return self._runtime.partitions.of_topic(topic)

    def open_topic(self, topic: str) -> int:
        """The number of partitions of a topic that a function chose."""
        return self._runtime.open_topic(topic)

    def send_batch(self, topic: str, batch: Batch) -> None:
        message = f"The local runtime processes record by record, but a batch was sent to {topic!r}: {batch!r}"
        raise AssertionError(message)

    def store(self, name: str) -> Any:
        """The typed store of the task, with its uncommitted changes."""
        return self._task.context.stores[name]

    def run(
        self, records: Sequence[Arrival], wall_clock_ms: int, *, tick: bool
    ) -> Iterator[tuple[str, Order, Message]]:
        """Processes records, then, if `tick`, what is due by the wall clock.

        Yields each record written, with its topic and its position in the one order.
        """
        self._task.context.system_time_ms = wall_clock_ms
        # As on Spark, the records that one task wrote to one topic form a queue. Queues are sorted by task, then topic.
        queues = groupby(sorted(records, key=_queue), _queue)
        chunks = [_chunk(list(queue), handed_over=topic in self._handed_over) for (_, topic), queue in queues]
        for _ in self._task.process(chunks):
            pass
        yield from self._drain()
        if tick:
            self._task.punctuate()
            yield from self._drain()

    def close(self) -> None:
        if self._task.processors is not None:
            self._task.processors.close()

    def _drain(self) -> Iterator[tuple[str, Order, Message]]:
        written, self._written = self._written, []
        for topic, position, message in written:
            yield topic, self._task.context.order.take([position]), message

    def commit(self) -> Counts:
        self._task.context.errors.end_batch()
        for name, store in self._stores.items():
            self._durable[name].put_many(store.changes.items())
            store.discard_changes()
        return self._metrics.drain()


def _queue(arrival: Arrival) -> tuple[tuple[int, int], str]:
    return arrival.origin, arrival.topic


def _chunk(records: list[Arrival], *, handed_over: bool) -> Chunk:
    orders = concatenated([record.order for record in records])
    messages = [record.message for record in records]
    headers = [message.headers for message in messages]
    columns = RecordColumns(
        [message.key for message in messages],
        [message.value for message in messages],
        [message.timestamp_ms for message in messages],
        headers if any(headers) else None,
    )
    topic, origin = records[0].topic, records[0].origin
    timestamps = np.array(columns.timestamps, np.int64)
    return Chunk(topic, orders, timestamps, lambda: columns, origin=origin, handed_over=handed_over)
