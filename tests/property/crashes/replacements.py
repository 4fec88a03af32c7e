"""What replaces parts of the product in the simulated world, apart from disk and topics."""

from __future__ import annotations

from collections.abc import MutableMapping

import msgspec

from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages.frames import TO_SINK, Frame
from headrace._runtime.spark.stages.task_runner import task_name
from headrace._state.bytes.envelope import seal, unseal
from headrace._state.changes.compaction import CompactionPolicy
from headrace._state.changes.delta import Columns, EncodedColumns
from headrace._state.changes.task_state import TaskState
from headrace._state.log import reading
from tests.property.crashes.application import STAGE, STORE
from tests.property.crashes.expected import EXPECTED, PARTITIONS, Counted, contents
from tests.property.crashes.world import World

POLICY = CompactionPolicy(min_delta_bytes=1, max_deltas=3, min_step_bytes=40, max_step_bytes=60, max_removals=3)


class PerProcessDict(MutableMapping):
    """Replaces a global dict of the product: each simulated process has its own."""

    def __init__(self, what):
        self._what = what

    def __getitem__(self, owner):
        return self._own()[owner]

    def __setitem__(self, owner, session):
        self._own()[owner] = session

    def __delitem__(self, owner):
        del self._own()[owner]

    def __iter__(self):
        return iter(self._own())

    def __len__(self):
        return len(self._own())

    def _own(self):
        actor = World.current.simulation.current
        return World.current.process_memory[self._what, actor.name if actor is not None else ""]


def make_plan(graph, config, topics, *, instance, epoch, run, partitions_before, pattern_tasks_before):
    """Replaces the function that makes a plan of a topology."""
    return Plan(
        application_id="model",
        topics_dir="",
        broker="a model" if World.current.kafka else None,
        exactly_once=True,
        state_dir=str(config.state_dir),
        local_dir=None,
        instance=instance,
        epoch=epoch,
        stages=(STAGE,),
        partitions={"in": PARTITIONS, "out": PARTITIONS},
        sink_topics=("out",),
        spark_partitions=1,
        fuses=True,
        max_records=100,
        commit_interval_s=0.0,
        sync_state=True,
        retention_ms=World.current.retention_ms,
        run=run,
        clock=lambda: World.current.clock_ms,
    )


def run_task(plan, stage, partition, received, durable, describe):
    """Replaces the topology: counts keys, and checks first that the store holds the counts of all earlier records."""
    replica = replica_of(plan, task_name(stage, partition))
    results = []
    with TaskState(durable, replica, describe, policy=POLICY) as state:
        counts = state.store(STORE)
        for frame in received:
            first, last = msgspec.json.decode(frame.payload)
            assert dict(counts.range(None, None)) == contents(partition, first)
            for offset in range(first, last):
                key = EXPECTED[partition].up_to(last).output[offset].key
                count = int(counts.get(key.encode()) or b"0") + 1
                if count == 7:
                    counts.delete(key.encode())
                else:
                    counts.put(key.encode(), b"%d" % count)
                results.append(Counted(partition, offset, key, count))
        state.commit()
    yield Frame(
        stage=TO_SINK, target=partition, hop=0, origin=partition, seq=0, channel=0, payload=msgspec.json.encode(results)
    )


def replica_of(plan, task):
    return reading.Replica(World.current.replica_directory / task)


def encode_columns(delta):
    """Replaces Arrow, which would be slow for thousands of tiny deltas."""
    payload = msgspec.msgpack.encode(delta)
    return EncodedColumns(seal(payload), len(payload))


def decode_columns(blob, describe):
    return msgspec.msgpack.decode(unseal(blob, describe), type=dict[str, Columns])
