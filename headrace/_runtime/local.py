"""Runs tasks in this process, one input record at a time, as Spark would with batches of one record."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from headrace._core.metrics import Counts, total
from headrace._core.task.order import Order
from headrace._graph.graph import Graph
from headrace._graph.nodes import CogroupMerge, Node
from headrace._graph.patterns import with_matching_topics
from headrace._runtime.assemble import blueprints
from headrace._runtime.dynamic_topics import ReservedTopics
from headrace._runtime.local_loops import Descendants
from headrace._runtime.local_partitions import LocalPartitions
from headrace._runtime.local_task import Arrival, LocalTask, Message
from headrace._runtime.pending import nodes_holding_results, pending_in_task, pending_results
from headrace._state.bytes.memory import MemoryStore
from headrace.config import StreamsConfig
from headrace.errors import StateError
from headrace.model.pending import Pending, PendingTask

R = TypeVar("R")

_PIPED = (-1, 0)  # the origin of input records


_Output = tuple[str, Message]
_Inputs = dict[tuple[str, int], list[Arrival]]  # by topic and partition
_StoreKey = tuple[int | None, int, str]  # stage, partition, name; a global table belongs to no stage


class LocalRuntime:
    """The tasks of all sub-topologies, created when a partition first gets a record.

    Tasks that have processors exist from the start, so that schedules fire without records. All tasks share one copy of
    each global table: the task of partition 0 of the first stage that reads it stores its records.
    """

    def __init__(
        self,
        graph: Graph,
        config: StreamsConfig,
        wall_clock_ms: int,
        partitions: int | Mapping[str, int] | None = None,
    ) -> None:
        self._graph = graph
        self._config = config
        self._blueprints = blueprints(graph, config)
        self._given_partitions = partitions
        self.partitions = LocalPartitions(graph, self._blueprints, partitions)
        self._reserved = ReservedTopics(
            config.application_id, self.partitions.internal, graph.dead_letter_topic, graph.patterns
        )
        self._durable: dict[_StoreKey, MemoryStore] = {}
        self._offsets: dict[tuple[str, int], int] = {}
        self._ranks: dict[tuple[str, int], int] = {}
        self._counts: Counts = {}
        self.places: list[tuple[str, int]] = []
        self.outputs: dict[str, deque[Message]] = {}
        self.written: Counter[str] = Counter()
        self.wall_clock_ms = wall_clock_ms
        self.restart()

    def restart(self) -> None:
        """Discards everything that is not committed, as after a crash."""
        self._tasks: dict[tuple[int, int], LocalTask] = {}
        for stage, blueprint in enumerate(self._blueprints):
            if blueprint.has_processors:
                for partition in self.partitions.tasks(stage):
                    self._task(stage, partition)
        self._commit()

    def add_topic(self, topic: str) -> None:
        """Reads one more topic that matches a pattern; tasks and processors stay as they are."""
        known = dict.fromkeys((*self._graph.source_topics, topic), 1)
        self._graph = with_matching_topics(self._graph, known)
        self._blueprints = blueprints(self._graph, self._config)
        self.partitions = LocalPartitions(self._graph, self._blueprints, self._given_partitions)
        for (stage, _), task in self._tasks.items():
            task.add_topic(topic, self._blueprints[stage])

    def open_topic(self, topic: str) -> int:
        """The number of partitions of an output topic that a function chose. In the test driver every topic exists.

        Raises:
            RoutingError: if the application may not write to it.
        """
        self._reserved.refuse(topic)
        return self.partitions.of_topic(topic)

    def metrics(self) -> Counts:
        return self._counts

    def stores_named(self, name: str, partition: int | None = None) -> list[MemoryStore]:
        """The committed contents of a store, one per task; with `partition`, only of the task of this partition."""
        return [
            store
            for (_, task, store_name), store in self._durable.items()
            if store_name == name and partition in (None, task)
        ]

    def partition_of_key(self, store: str, key: bytes, suffix: int | None) -> int:
        """The partition of the task that has a key in a store; the last `suffix` bytes of the key encode its window."""
        if store in self._graph.global_tables:
            return 0
        return self.partitions.of_stored_key(self._stage_with(store), key, suffix)

    def change_store(self, name: str, partition: int, change: Callable[[Any], R]) -> R:
        """Calls `change` with the store of one task and commits.

        Later stages that hold a copy of the store's table get the same change, so that lookups there see it.
        """
        stage = self._stage_with(name)
        try:
            result = change(self._task(stage, partition).store(name))
            for later, copy in self._copies_of(name):
                change(self._task(later, partition).store(copy))
        except Exception:
            self.restart()
            raise
        self._commit()
        return result

    def _stage_with(self, store: str) -> int:
        for stage, blueprint in enumerate(self._blueprints):
            if store in blueprint.sub.stores:
                return stage
        message = f"Store {store!r} cannot be written: no operator of the topology uses it."
        raise StateError(message)

    def _copies_of(self, store: str) -> Iterator[tuple[int, str]]:
        """The stages with a copy of the table that a store holds, and the names of the copies."""
        for stage, blueprint in enumerate(self._blueprints):
            for table, copy in blueprint.sub.copies.items():
                node = self._graph.by_name[table]
                if isinstance(node, CogroupMerge):
                    node = self._graph.by_name[node.parents[0]]
                if store in node.stores[:1]:
                    yield stage, copy.name

    def pending(self, name: str | None) -> list[Pending]:
        """Committed results that operators hold back; with `name`, only of the operator with that name or store."""
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

    def pipe(self, topic: str, partition: int | None, message: Message) -> None:
        """Processes one record and then, one by one, the records written to topics that the topology reads.

        An error rolls back the record that failed, and no further record is processed.
        """
        where = self.partitions.of_input(topic, message.key, partition)
        waiting = deque([(topic, message._replace(partition=where))])
        descendants = Descendants(self._graph, topic)
        while waiting:
            topic, message = waiting.popleft()
            place = (topic, message.partition)
            offset = self._offsets[place] = self._offsets.get(place, -1) + 1
            order = Order.of_partition(self._rank(place), offset, np.array([message.timestamp_ms], np.int64))
            tables, others = self._step({place: [Arrival(topic, _PIPED, order, message)]})
            waiting.extendleft(reversed(tables))
            waiting.extend(others)
            descendants.add([topic for topic, _ in (*tables, *others)])

    def advance(self, milliseconds: int) -> None:
        """Advances the wall clock, runs the punctuations that are due, and processes the records that result."""
        self.wall_clock_ms += milliseconds
        tables, others = self._step({}, tick=True)
        for topic, message in (*tables, *others):
            self.pipe(topic, message.partition, message)

    def close(self) -> None:
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            task.close()

    def _step(self, inputs: _Inputs, *, tick: bool = False) -> tuple[list[_Output], list[_Output]]:
        """Processes and commits. Returns the output that is also input: for topics of global tables, and for others."""
        try:
            produced = self._process(inputs, tick=tick)
        except Exception:
            self.restart()
            raise
        self._commit()
        for topic, message in produced:
            self.outputs.setdefault(topic, deque()).append(message)
        written = Counter(topic for topic, _ in produced)
        self.written += written
        records_out = {f"topic {topic}": {"records_out": count} for topic, count in written.items()}
        self._counts = total([self._counts, records_out])
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
            arrived = {place: inputs[place] for place in inputs if place[0] in topics}
            ticking = self._partitions(stage) if tick and blueprint.needs_ticks else set()
            arrived |= {(topic, 0): inputs[topic, p] for topic, p in inputs if topic in blueprint.counted_tables}
            for partition in sorted({partition for _, partition in arrived} | ticking):
                records = [record for (_, p), listed in arrived.items() if p == partition for record in listed]
                for topic, order, message in self._task(stage, partition).run(records, self.wall_clock_ms, tick=tick):
                    target = message.partition
                    if target < 0:
                        target = self.partitions.of_output(topic, message.key, partition)
                    if topic in self.partitions.internal:
                        arrival = Arrival(topic, (stage, partition), order, message)
                        inputs.setdefault((topic, target), []).append(arrival)
                    else:
                        outputs.append((topic, message._replace(partition=target)))
        return outputs

    def _partitions(self, stage: int) -> set[int]:
        """The partitions for which a stage with state has had tasks."""
        return {partition for at, partition, _ in self._durable if at == stage}

    def _rank(self, place: tuple[str, int]) -> int:
        if place not in self._ranks:
            self._ranks[place] = len(self.places)
            self.places.append(place)
        return self._ranks[place]

    def _task(self, stage: int, partition: int) -> LocalTask:
        if (stage, partition) not in self._tasks:
            blueprint = self._blueprints[stage]
            durable = {
                name: self._durable.setdefault(key, MemoryStore())
                for name, key in self._store_keys(stage, partition).items()
            }
            self._tasks[stage, partition] = LocalTask(blueprint, partition, durable, self)
        return self._tasks[stage, partition]

    def _store_keys(self, stage: int, partition: int) -> dict[str, _StoreKey]:
        """The keys in `_durable` of a task's stores."""
        tables = self._graph.global_tables
        return {
            name: (None, 0, name) if name in tables else (stage, partition, name)
            for name in self._blueprints[stage].stores
        }
