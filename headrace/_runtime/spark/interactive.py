"""Stores of a running or stopped application, as its last committed batch left them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node
from headrace._runtime.defaults import Defaults
from headrace._runtime.pending import pending, pending_in_task
from headrace._runtime.spark.plan import Plan, Stage
from headrace._runtime.spark.query import checkpoint, checkpoint_location
from headrace._runtime.spark.session import is_local, query_settings
from headrace._runtime.stores import known_store
from headrace._state.changelog import TaskState
from headrace._state.durable import MemoryDurable
from headrace._state.memory import MemoryStore
from headrace._state.replica import Replica
from headrace.config import StreamsConfig
from headrace.errors import StateError
from headrace.pending import Pending, PendingTask

_ESCAPED = re.compile(r'[\s%"<>#?\[\]^`{|}\\]')  # what a URL writes otherwise


class StoreReader:
    """Reads the durable log of a stage through Spark's state reader, and restores it as a task does."""

    def __init__(self, spark: Any, graph: Graph, plan: Plan, config: StreamsConfig) -> None:
        self._spark = spark
        self._graph = graph
        self._plan = plan
        self._config = config

    def store(self, name: str) -> Any:
        known_store(self._graph, name)
        stage = next(stage for stage in self._plan.chain if name in stage.blueprint.sub.stores)
        one = 0 if name in self._graph.global_tables else None  # each task has all of it
        tasks = self._durable_tasks(stage, one)
        parts = [self._contents(stage, task, blobs, name) for task, blobs in tasks.items()]
        return Defaults.of(self._config).view(self._graph, name, parts)

    def pending(self, nodes: Sequence[Node]) -> list[Pending]:
        """What nodes hold back, as the last committed batch left it."""
        told: dict[str, list[PendingTask]] = {node.name: [] for node in nodes}
        for stage in self._plan.chain:
            here = stage.blueprint.sub.by_name
            held = [here[node.name] for node in nodes if node.name in here]
            for partition, durable in sorted(self._durable_tasks(stage).items() if held else ()):
                with self._restored(stage, partition, durable) as state:
                    stores = {name: state.store(name) for name in stage.blueprint.stores}
                    for node in held:
                        told[node.name].append(pending_in_task(stage.blueprint, node, partition, stores))
        return [pending(node, tuple(told[node.name])) for node in nodes]

    def _contents(self, stage: Stage, partition: int, durable: MemoryDurable, name: str) -> MemoryStore:
        with self._restored(stage, partition, durable) as state:
            contents = MemoryStore()
            contents.put_many(state.store(name).range(None, None))
            return contents

    @contextmanager
    def _restored(self, stage: Stage, partition: int, durable: MemoryDurable) -> Iterator[TaskState]:
        with tempfile.TemporaryDirectory(prefix="headrace-query-") as directory:
            describe = f"application {self._plan.application_id!r}, task {stage.blueprint.sub.number}_{partition}"
            with TaskState(durable, Replica(Path(directory)), describe) as state:
                yield state

    def _durable_tasks(self, stage: Stage, one: int | None = None) -> dict[int, MemoryDurable]:
        """What the last committed batch left of every task of a stage, or of one, by partition.

        There is nothing before the first batch.
        """
        if not any(checkpoint(self._config).glob("commits/[0-9]*")):
            return {}
        routes = self._plan.routes[stage.index][0]
        tasks: dict[int, MemoryDurable] = {}

        def task(route: int) -> MemoryDurable:
            return tasks.setdefault(routes.index(route), MemoryDurable())

        wanted = "true" if one is None else f"key.route = {routes[one]}"
        for row in self._read(stage, wanted, "head", "value.blob"):
            task(row.route).head = bytes(row.blob)
        for row in self._read(stage, wanted, "deltas", "user_map_key.number", "user_map_value.blob"):
            task(row.route).deltas[row.number] = bytes(row.blob)
        for row in self._read(stage, wanted, "slices", "user_map_key.number", "user_map_value.blob"):
            task(row.route).slices[row.number] = bytes(row.blob)
        return tasks

    def _read(self, stage: Stage, wanted: str, variable: str, *columns: str) -> Any:
        operator = len(self._plan.chain) - 1 - self._plan.chain.index(stage)  # Spark counts from the sink
        settings = query_settings(self._spark, self._config, self._plan.spark_partitions)
        with settings, _readable_location(self._spark, self._config) as location:
            reader = self._spark.read.format("statestore").option("stateVarName", variable)
            rows = reader.option("operatorId", operator).load(location)
            return rows.where(wanted).select("key.route", *columns).collect()


@contextmanager
def _readable_location(spark: Any, config: StreamsConfig) -> Iterator[str]:
    """The checkpoint for Spark's state reader, which looks for a path with a space in it under another name.

    Raises:
        StateError: if the reader cannot be helped: on a cluster.
    """
    path = checkpoint(config)
    if not _ESCAPED.search(str(path)):
        yield checkpoint_location(config)
        return
    if not is_local(spark.conf.get("spark.master", "local")):
        message = (
            f"Stores in {str(path)!r} cannot be read on a cluster: Spark's state reader does not find paths with "
            'spaces or with any of %"<>#?[]^`{|}. Results are not affected. Use a state_dir without them.'
        )
        raise StateError(message)
    with tempfile.TemporaryDirectory(prefix="headrace-query-") as directory:
        link = Path(directory) / "checkpoint"
        link.symlink_to(path, target_is_directory=True)
        yield f"file://{link}"
