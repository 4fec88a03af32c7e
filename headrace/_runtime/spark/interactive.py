"""Stores of a running or stopped application, as its last committed batch left them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from headrace._graph.graph import Graph
from headrace._runtime.assemble import Defaults, known_store
from headrace._runtime.spark.plan import Plan, Stage
from headrace._runtime.spark.query import checkpoint
from headrace._state.changelog import TaskState
from headrace._state.combined import CombinedReader
from headrace._state.memory import MemoryStore
from headrace._state.readonly import ReadOnlyTimestampedStore
from headrace._state.replica import Replica
from headrace.config import StreamsConfig
from headrace.errors import StateError


class StoreReader:
    """Reads the durable log of a stage through Spark's state reader, and restores it as a task does."""

    def __init__(self, spark: Any, graph: Graph, plan: Plan, config: StreamsConfig) -> None:
        self._spark = spark
        self._graph = graph
        self._plan = plan
        self._config = config

    def store(self, name: str) -> ReadOnlyTimestampedStore[Any, Any]:
        known_store(self._graph, name)
        stage = next(stage for stage in self._plan.chain if name in stage.blueprint.sub.stores)
        parts = [self._contents(task, blobs, name) for task, blobs in self._durable_tasks(stage).items()]
        return Defaults.of(self._config).view(self._graph, name, CombinedReader(parts))

    def _contents(self, task: str, durable: _SavedTask, name: str) -> MemoryStore:
        with tempfile.TemporaryDirectory(prefix="headrace-query-") as directory:
            describe = f"application {self._plan.application_id!r}, task {task}"
            with TaskState(durable, Replica(Path(directory)), describe) as state:
                contents = MemoryStore()
                contents.put_many(state.store(name).range(None, None))
                return contents

    def _durable_tasks(self, stage: Stage) -> dict[str, _SavedTask]:
        if not Path(checkpoint(self._config), "commits").is_dir() or not any(
            Path(checkpoint(self._config), "commits").iterdir()
        ):
            return {}
        operator = len(self._plan.chain) - 1 - self._plan.chain.index(stage)
        routes = self._plan.routes[stage.index][0]
        tasks: dict[str, _SavedTask] = {}

        def task(route: int) -> _SavedTask:
            return tasks.setdefault(f"{stage.blueprint.sub.number}_{routes.index(route)}", _SavedTask())

        for row in self._read(operator, "head").select("key.route", "value.blob").collect():
            task(row.route).head = bytes(row.blob)
        for variable in ("deltas", "slices"):
            rows = self._read(operator, variable).select("key.route", "user_map_key.number", "user_map_value.blob")
            for row in rows.collect():
                getattr(task(row.route), variable)[row.number] = bytes(row.blob)
        return tasks

    def _read(self, operator: int, variable: str) -> Any:
        reader = self._spark.read.format("statestore").option("stateVarName", variable)
        return reader.option("operatorId", operator).load(checkpoint(self._config))


class _SavedTask:
    """A `DurableTask` that is only read."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.deltas: dict[int, bytes] = {}
        self.slices: dict[int, bytes] = {}

    def get_head(self) -> bytes | None:
        return self.head

    def get_delta(self, version: int) -> bytes:
        return self.deltas[version]

    def get_slice(self, slice_id: int) -> bytes:
        return self.slices[slice_id]

    def put_head(self, blob: bytes) -> None:
        raise StateError(_READ_ONLY)

    def put_delta(self, version: int, blob: bytes) -> None:  # noqa: ARG002
        raise StateError(_READ_ONLY)

    def remove_delta(self, version: int) -> None:  # noqa: ARG002
        raise StateError(_READ_ONLY)

    def put_slice(self, slice_id: int, blob: bytes) -> None:  # noqa: ARG002
        raise StateError(_READ_ONLY)

    def remove_slice(self, slice_id: int) -> None:  # noqa: ARG002
        raise StateError(_READ_ONLY)


_READ_ONLY = "A store read from outside the application cannot be written."
