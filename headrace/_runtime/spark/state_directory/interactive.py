"""Reads the stores of a running or stopped application as of its last committed batch, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node
from headrace._runtime.assemble import blueprints
from headrace._runtime.defaults import Defaults
from headrace._runtime.pending import pending_in_task, pending_results
from headrace._runtime.spark.starting import committed_view, log_of
from headrace._runtime.stores import known_store
from headrace._state.bytes.overlay import OverlayStore
from headrace._state.log.reading import CommittedTasks
from headrace._state.replica.replica import replicas_of
from headrace.config import StreamsConfig
from headrace.model.pending import Pending, PendingTask


class StoreReader:
    """Reads stores and pending results from the state log and from the replicas on this machine."""

    def __init__(self, graph: Graph, config: StreamsConfig) -> None:
        self._graph = graph
        self._config = config
        self._log = log_of(config)
        self._stages = blueprints(graph, config)

    def store(self, name: str) -> Any:
        known_store(self._graph, name)
        index = next(index for index, stage in enumerate(self._stages) if name in stage.sub.stores)
        tasks = self._tasks(index)
        if name in self._graph.global_tables:
            tasks = dict(list(tasks.items())[:1])  # every task has the whole table
        read = self._read(tasks)
        parts = [_TaskStore(read, task, name) for task in tasks]
        return Defaults.of(self._config).view(self._graph, name, parts)

    def pending(self, nodes: Sequence[Node]) -> list[Pending]:
        """Returns the pending results of each node, over all tasks."""
        waiting: dict[str, list[PendingTask]] = {node.name: [] for node in nodes}
        for index, blueprint in enumerate(self._stages):
            here = blueprint.sub.by_name
            held = [here[node.name] for node in nodes if node.name in here]
            tasks = self._tasks(index) if held else {}
            read = self._read(tasks)
            for task, partition in tasks.items():
                stores = {name: OverlayStore(_TaskStore(read, task, name)) for name in blueprint.stores}
                for node in held:
                    waiting[node.name].append(pending_in_task(blueprint, node, partition, stores))
        return [pending_results(node, tuple(waiting[node.name])) for node in nodes]

    def _tasks(self, index: int) -> dict[str, int]:
        """The names and partitions of those tasks of a stage that have state, in the order of their partitions."""
        view = committed_view(self._config, self._log)
        names: dict[int, str] = {}
        for name in () if view is None else view.state.heads:
            stage, partition = map(int, name.split("-"))
            if stage == index:
                names[partition] = name
        return {names[partition]: partition for partition in sorted(names)}

    def _read(self, tasks: Iterable[str]) -> CommittedTasks:
        view = self._log.view()
        instance = "" if view is None else view.start.instance
        replicas = replicas_of(instance, self._config.local_dir)
        describe = f"application {self._config.application_id!r}"
        return CommittedTasks.read(self._log, tasks, replicas, describe)


class _TaskStore:
    """One store of one task. It holds the snapshot, so that the snapshot stays open while the store is in use."""

    def __init__(self, read: CommittedTasks, task: str, store: str) -> None:
        self._read = read
        reader = read.snapshots[task].reader(store)
        self.get, self.get_many = reader.get, reader.get_many
        self.range, self.reverse_range, self.prefix = reader.range, reader.reverse_range, reader.prefix
        self.approximate_len = reader.approximate_len
