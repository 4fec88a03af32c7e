"""Fixtures that put the simulated world in place of Spark, disk, clocks and topics."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headrace._runtime.spark import starting
from headrace._runtime.spark.planning import batch_planner
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages import committing, fused, task_runner
from headrace._runtime.spark.state_directory import log as state_directory
from headrace._state.changes import compaction, restore, task_state
from headrace._state.log import objects, reading
from headrace._state.log import state_log as state_logs
from headrace.topics.kafka import commits as kafka_commits
from tests.property.crashes.application import ingest
from tests.property.crashes.replacements import (
    PerProcessDict,
    decode_columns,
    encode_columns,
    make_plan,
    replica_of,
    run_task,
)
from tests.property.crashes.replicas import MemoryReplica
from tests.property.crashes.world import WatchedLog, World

BASE_EVERY, KEEP_BEFORE_BASE = 5, 7


@pytest.fixture(autouse=True)
def _simulated_world(monkeypatch):
    """Puts the simulated world in place of Spark, disk, clocks and topics; the rest is the product's own code."""
    replace = monkeypatch.setattr
    replace(state_directory, "DiskFiles", lambda root, sync: World.current.files)
    replace(state_directory, "StateLog", WatchedLog)
    replace(starting, "make_plan", make_plan)
    replace(starting, "layout_of", lambda plan, config: ())
    replace(starting, "backend_of", lambda settings: World.current.backend(_plan_of(settings)))
    replace(fused, "ingest", ingest)
    replace(fused, "FinishFile", lambda state_dir: SimpleNamespace(is_requested=lambda run: False))
    replace(fused, "time", SimpleNamespace(monotonic=_seconds))
    replace(task_runner, "run_task", run_task)
    replace(task_runner, "replica_of", replica_of)
    replace(kafka_commits, "_sessions", PerProcessDict("sessions"))
    replace(task_state, "_recent_deltas", PerProcessDict("recent deltas"))
    replace(kafka_commits, "time", SimpleNamespace(sleep=lambda seconds: World.current.simulation.pause(50)))
    replace(batch_planner, "_RECORD_US", 1e5)
    replace(objects, "_SPARSE_BYTES_AT_LEAST", 100)
    replace(objects, "_DEAD_BYTES_AT_LEAST", 1000)
    replace(state_logs, "_BASE_EVERY", BASE_EVERY)
    replace(state_logs, "_KEEP_BEFORE_BASE", KEEP_BEFORE_BASE)
    for module in (starting, committing):
        replace(module, "system_clock", lambda: World.current.clock_ms)


@pytest.fixture
def in_memory(monkeypatch):
    """Replaces LMDB and Arrow by dicts and MessagePack, for speed."""
    replace = monkeypatch.setattr
    replace(reading, "Replica", lambda directory: MemoryReplica(World.current.replicas, directory))
    for module in (task_state, compaction):
        replace(module, "encode_columns", encode_columns)
    for module in (task_state, restore, reading):
        replace(module, "decode_columns", decode_columns)


def _plan_of(settings):
    return settings if isinstance(settings, Plan) else SimpleNamespace(state_dir=str(settings.state_dir), epoch=0)


def _seconds():
    World.current.seconds += 0.5
    return World.current.seconds
