"""From topics into the plan: raw frames for stages with state, and the work of stages that need none.

Records of global topics go to all tasks that have such a table in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import pyarrow as pa

from headrace._core.metrics import Metrics
from headrace._core.task.chunk import Chunk
from headrace._core.task.order import Ints, Order
from headrace._runtime.spark.planning.plan import Plan, Stage
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.collector import FrameCollector
from headrace._runtime.spark.stages.frames import BATCH, METRICS, TICK, Frame, Tick
from headrace._state.log.entries import BatchPlan

_MAX_ROWS = 50_000


def ingest(
    plan: Plan,
    topic: str,
    partition: int,
    first_offset: int,
    batches: Iterable[pa.RecordBatch],
    tick: Tick | None = None,
) -> Iterator[Frame]:
    """Frames made of consecutive records of one topic-partition; `tick` is there if the plan is clocked.

    Batches with a column of offsets have gaps between them; others have all offsets from the first on.
    """
    clock_ms = None if tick is None else tick.clock_ms
    chunks = _with_order(plan, topic, partition, first_offset, batches, plan.latest_ms(topic, clock_ms))
    if topic in plan.global_topics:
        targets = [(stage, target) for stage in plan.readers_of(topic) for target in plan.routes[stage.index][0]]
        yield from _raw(plan, targets, topic, partition, chunks)
        return
    stage = plan.reader_of[topic]
    if stage.inline:
        yield from _processed(plan, stage, topic, partition, chunks, clock_ms or 0)
        return
    target = plan.routes[stage.index][0][partition]
    if tick is not None:
        yield Frame(stage.index, target, -1, plan.ranks[topic, partition], 0, TICK, msgspec.json.encode(tick))
    yield from _raw(plan, [(stage, target)], topic, partition, chunks)


def tick_frames(plan: Plan, tick: Tick) -> Iterator[Frame]:
    """A tick for every task that has something to do by the wall clock, so that each runs in every batch."""
    payload = msgspec.json.encode(tick)
    for stage in plan.chain:
        if stage.blueprint.ticks:
            for target in plan.routes[stage.index][0]:
                yield Frame(stage.index, target, -1, 0, 0, TICK, payload)


def batch_frame(batch: BatchPlan) -> Frame:
    """Lets the commit know the batch."""
    return frames.for_commit(BATCH, batch)


def metrics_frame(metrics: Metrics) -> Frame:
    return frames.for_commit(METRICS, metrics.drain())


def _with_order(
    plan: Plan,
    topic: str,
    partition: int,
    first_offset: int,
    batches: Iterable[pa.RecordBatch],
    latest_ms: int | None,
) -> Iterator[tuple[pa.RecordBatch, Order]]:
    rank, reached_ms, offset = plan.ranks[topic, partition], -1, first_offset
    for whole in batches:
        for start in range(0, whole.num_rows, _MAX_ROWS):
            batch = whole.slice(start, _MAX_ROWS)
            timestamps = batch.column("timestamp").to_numpy()
            offsets: int | Ints = offset
            if "offset" in batch.schema.names:
                offsets, batch = batch.column("offset").to_numpy(), batch.drop_columns(["offset"])
            order = Order.of_partition(rank, offsets, timestamps, reached_ms, latest_ms)
            reached_ms, offset = int(order.time_ms[-1]), int(order.offset[-1]) + 1
            yield batch, order


def _raw(
    plan: Plan,
    targets: Sequence[tuple[Stage, int]],
    topic: str,
    partition: int,
    chunks: Iterable[tuple[pa.RecordBatch, Order]],
) -> Iterator[Frame]:
    """Frames as they are for all the targets: the routes of tasks."""
    rank, seq = plan.ranks[topic, partition], 0
    for batch, order in chunks:
        payload = frames.encode(batch, order)
        for stage, target in targets:
            yield Frame(stage.index, target, -1, rank, seq, plan.channels[topic], payload)
        seq += batch.num_rows


def _processed(
    plan: Plan,
    stage: Stage,
    topic: str,
    partition: int,
    chunks: Iterable[tuple[pa.RecordBatch, Order]],
    clock_ms: int,
) -> Iterator[Frame]:
    metrics = Metrics()
    collector = FrameCollector(plan, stage.index, plan.ranks[topic, partition], partition)
    task = stage.blueprint.make_task(partition, {}, collector, metrics, plan.places, system_time_ms=clock_ms)
    collector.context = task.context
    for batch, order in chunks:
        for _ in task.process([_chunk(topic, order, batch)]):
            yield from collector.drain()
        yield from collector.finish()
    yield metrics_frame(metrics)


def _chunk(topic: str, order: Order, batch: pa.RecordBatch) -> Chunk:
    timestamps = batch.column("timestamp").to_numpy()
    return Chunk(topic, order, timestamps, lambda: frames.to_columns(batch), lambda: batch)
