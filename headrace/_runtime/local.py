"""Runs tasks in this process, one input record at a time, as Spark would with batches of one record."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from headrace._core.columnar.batch import Batch
from headrace._core.metrics import Counts, Metrics, total
from headrace._core.task.chunk import Chunk, RecordColumns
from headrace._core.task.order import Order
from headrace._core.task.task import Task
from headrace._graph.graph import Graph
from headrace._graph.nodes import Node
from headrace._runtime.assemble import TaskBlueprint, blueprints
from headrace._runtime.dynamic_topics import ReservedTopics
from headrace._runtime.pending import nodes_holding_results, pending_in_task, pending_results
from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore
from headrace.config import StreamsConfig
from headrace.model.pending import Pending, PendingTask
from headrace.model.record import Headers


class Message(NamedTuple):
    """A record as a topic stores it."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers


_Output = tuple[str, Message]
_Inputs = dict[tuple[str, int], list[tuple[Order, Message]]]  # by topic and partition
_StoreKey = tuple[int | None, int, str]  # stage, partition, name; a global table belongs to no stage


class LocalRuntime:
    """The tasks of all sub-topologies, created when a partition first gets a record. Repartitions have one partition.

    Tasks of partition 0 that have processors exist from the start, so that schedules fire without records. All tasks
    share one copy of each global table: the task of partition 0 of the first stage that reads it stores its records.
    """

    def __init__(self, graph: Graph, config: StreamsConfig, wall_clock_ms: int) -> None:
        self._graph = graph
        self._blueprints = blueprints(graph, config)
        sinks = [sink for blueprint in self._blueprints for sink in blueprint.sub.sinks if sink.internal]
        self._internal = {sink.topic for sink in sinks}
        self._relays = {sink.topic for sink in sinks if sink.relay}
        self._reserved = ReservedTopics(config.application_id, self._internal, graph.dead_letter_topic)
        self._durable: dict[_StoreKey, MemoryStore] = {}
        self._offsets: dict[tuple[str, int], int] = {}
        self._ranks: dict[tuple[str, int], int] = {}
        self._counts: Counts = {}
        self.places: list[tuple[str, int]] = []
        self.outputs: dict[str, list[Message]] = {}
        self.wall_clock_ms = wall_clock_ms
        self.restart()

    def restart(self) -> None:
        """Discards everything that is not committed, as after a crash."""
        self._tasks: dict[tuple[int, int], _LocalTask] = {}
        for stage, blueprint in enumerate(self._blueprints):
            if blueprint.has_processors:
                self._task(stage, 0)
        self._commit()

    def partitions_of(self, topic: str) -> int:  # noqa: ARG002
        """The number of partitions of a topic that is written."""
        return 1

    def open_topic(self, topic: str) -> int:
        """The number of partitions of a topic that a function chose; every topic exists.

        Raises:
            RoutingError: if the application may not write to it.
        """
        self._reserved.refuse(topic)
        return self.partitions_of(topic)

    def metrics(self) -> Counts:
        return self._counts

    def stores_named(self, name: str) -> list[MemoryStore]:
        """The committed contents of a store, one per task."""
        return [store for (_, _, store_name), store in self._durable.items() if store_name == name]

    def pending(self, name: str | None) -> list[Pending]:
        """Committed results that operators hold back: of all, or of the one with that name or store."""
        results = []
        for node in nodes_holding_results(self._graph, name):
            stage = next(
                index for index, blueprint in enumerate(self._blueprints) if node.name in blueprint.sub.by_name
            )
            partitions = sorted(self._partitions(stage))
            results.append(
                pending_results(node, tuple(self._pending_in(stage, node, partition) for partition in partitions))
            )
        return results

    def _pending_in(self, stage: int, node: Node, partition: int) -> PendingTask:
        stores = {store: self._durable[key] for store, key in self._store_keys(stage, partition).items()}
        return pending_in_task(self._blueprints[stage], node, partition, stores)

    def pipe(self, topic: str, partition: int, message: Message) -> None:
        """Processes one record and all records that result from it; an error rolls all of that back."""
        waiting = deque([(topic, message)])
        while waiting:
            place, message = (waiting[0][0], partition), waiting.popleft()[1]
            offset = self._offsets[place] = self._offsets.get(place, -1) + 1
            order = Order.of_partition(self._rank(place), offset, np.array([message.timestamp_ms], np.int64))
            tables, others = self._step({place: [(order, message)]})
            waiting.extendleft(reversed(tables))
            waiting.extend(others)

    def advance(self, milliseconds: int) -> None:
        """Advances the wall clock, runs the punctuations that are due, and processes the records that result."""
        self.wall_clock_ms += milliseconds
        tables, others = self._step({}, tick=True)
        for topic, message in (*tables, *others):
            self.pipe(topic, 0, message)

    def close(self) -> None:
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            task.close()

    def _step(self, inputs: _Inputs, *, tick: bool = False) -> tuple[list[_Output], list[_Output]]:
        """Processes and commits. Returns output that is input again: to topics of global tables, and to others."""
        try:
            produced = self._process(inputs, tick=tick)
        except Exception:
            self.restart()
            raise
        self._commit()
        for topic, message in produced:
            self.outputs.setdefault(topic, []).append(message)
            self._counts = total([self._counts, {f"topic {topic}": {"records_out": 1}}])
        tables = self._graph.global_topics
        read = [one for one in produced if one[0] in self._graph.source_topics]
        return [one for one in read if one[0] in tables], [one for one in read if one[0] not in tables]

    def _commit(self) -> None:
        for task in self._tasks.values():
            self._counts = total([self._counts, task.commit()])

    def _process(self, inputs: _Inputs, *, tick: bool) -> list[_Output]:
        outputs: list[_Output] = []
        for stage, blueprint in enumerate(self._blueprints):
            topics = blueprint.sub.source_topics
            arrived = {place: inputs[place] for place in sorted(inputs) if place[0] in topics}
            ticking = self._partitions(stage) if tick and blueprint.needs_ticks else set()
            arrived |= {(topic, 0): inputs[topic, p] for topic, p in inputs if topic in blueprint.counted_tables}
            for task_partition in sorted({partition for _, partition in arrived} | ticking):
                records_of_task = {name: records for (name, p), records in arrived.items() if p == task_partition}
                for sink_topic, order, message in self._task(stage, task_partition).run(records_of_task, tick=tick):
                    if sink_topic in self._internal:
                        target = (sink_topic, task_partition if sink_topic in self._relays else 0)
                        inputs.setdefault(target, []).append((order, message))
                    else:
                        outputs.append((sink_topic, message))
        return outputs

    def _partitions(self, stage: int) -> set[int]:
        """The partitions for which a stage with state has had tasks."""
        return {partition for at, partition, _ in self._durable if at == stage}

    def _rank(self, place: tuple[str, int]) -> int:
        if place not in self._ranks:
            self._ranks[place] = len(self.places)
            self.places.append(place)
        return self._ranks[place]

    def _task(self, stage: int, partition: int) -> _LocalTask:
        if (stage, partition) not in self._tasks:
            blueprint = self._blueprints[stage]
            durable = {
                name: self._durable.setdefault(key, MemoryStore())
                for name, key in self._store_keys(stage, partition).items()
            }
            self._tasks[stage, partition] = _LocalTask(blueprint, partition, durable, self)
        return self._tasks[stage, partition]

    def _store_keys(self, stage: int, partition: int) -> dict[str, _StoreKey]:
        """The keys in `_durable` of a task's stores."""
        tables = self._graph.global_tables
        return {
            name: (None, 0, name) if name in tables else (stage, partition, name)
            for name in self._blueprints[stage].stores
        }


class _LocalTask:
    """A task with its uncommitted changes."""

    def __init__(
        self, blueprint: TaskBlueprint, partition: int, durable: dict[str, MemoryStore], runtime: LocalRuntime
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
            system_time_ms=runtime.wall_clock_ms,
        )

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None = None,  # noqa: ARG002  all topics have one partition
    ) -> None:
        self._written.append((topic, self._task.context.position, Message(key, value, timestamp_ms, headers)))

    def send_batch(self, topic: str, batch: Batch) -> None:
        message = f"The local runtime processes record by record, but a batch was sent to {topic!r}: {batch!r}"
        raise AssertionError(message)

    def partitions_of(self, topic: str) -> int:
        return self._runtime.partitions_of(topic)

    def open_topic(self, topic: str) -> int:
        return self._runtime.open_topic(topic)

    def run(
        self, inputs: dict[str, list[tuple[Order, Message]]], *, tick: bool
    ) -> Iterator[tuple[str, Order, Message]]:
        self._task.context.system_time_ms = self._runtime.wall_clock_ms
        handed_over = self._handed_over
        chunks = [_chunk(topic, records, handed_over=topic in handed_over) for topic, records in inputs.items()]
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
        for name, store in self._stores.items():
            self._durable[name].put_many(store.changes.items())
            store.discard_changes()
        return self._metrics.drain()


def _chunk(topic: str, records: list[tuple[Order, Message]], *, handed_over: bool) -> Chunk:
    orders = Order(*(np.concatenate(columns) for columns in zip(*(order for order, _ in records), strict=True)))
    messages = [message for _, message in records]
    headers = [message.headers for message in messages]
    columns = RecordColumns(
        [message.key for message in messages],
        [message.value for message in messages],
        [message.timestamp_ms for message in messages],
        headers if any(headers) else None,
    )
    return Chunk(topic, orders, np.array(columns.timestamps, np.int64), lambda: columns, handed_over=handed_over)
