"""Turns the records of a topic-partition into frames, and runs inline stages on the way.

Records for any other stage go into frames unchanged; those of global topics go to every task that reads the table.
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
from headrace._runtime.spark.stages.frames import BATCH, INGEST, METRICS, TICK, Frame, Tick
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
    """Turns consecutive records of one topic-partition into frames.

    Batches whose offsets have gaps have a column `offset`; the offsets of others count up from `first_offset`. `tick`
    is given if the plan needs a clock.
    """
    clock_ms = None if tick is None else tick.clock_ms
    chunks = _with_order(plan, topic, partition, first_offset, batches, plan.latest_ms(topic, clock_ms))
    if topic in plan.global_topics:
        targets = [(stage, target) for stage in plan.stages_reading(topic) for target in plan.routes[stage.index].tasks]
        if tick is not None:
            payload = msgspec.json.encode(tick)
            yield from (_tick_frame(stage, target, plan.ranks[topic, partition], payload) for stage, target in targets)
        yield from _raw_frames(plan, targets, topic, partition, chunks)
        return
    stage = plan.stage_by_topic[topic]
    if stage.inline:
        yield from _run_inline(plan, stage, topic, partition, chunks, clock_ms or 0)
        return
    target = plan.routes[stage.index].tasks[partition]
    if tick is not None:
        yield _tick_frame(stage, target, plan.ranks[topic, partition], msgspec.json.encode(tick))
    yield from _raw_frames(plan, [(stage, target)], topic, partition, chunks)


def tick_frames(plan: Plan, tick: Tick) -> Iterator[Frame]:
    """A tick for every task that acts on the wall clock, so that each of them runs in every batch."""
    payload = msgspec.json.encode(tick)
    for stage in plan.chain:
        if stage.blueprint.needs_ticks:
            for target in plan.routes[stage.index].tasks:
                yield _tick_frame(stage, target, 0, payload)


def _tick_frame(stage: Stage, target: int, origin: int, payload: bytes) -> Frame:
    return Frame(stage=stage.index, target=target, hop=INGEST, origin=origin, seq=0, channel=TICK, payload=payload)


def batch_frame(batch: BatchPlan) -> Frame:
    """A frame that gives the commit the plan of the batch."""
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
    """Cuts batches into pieces of bounded size, and computes the position of their records in the one order."""
    rank, highest_ms, offset = plan.ranks[topic, partition], -1, first_offset
    for whole in batches:
        for start in range(0, whole.num_rows, _MAX_ROWS):
            batch = whole.slice(start, _MAX_ROWS)
            timestamps = batch.column("timestamp").to_numpy()
            offsets: int | Ints = offset
            if "offset" in batch.schema.names:
                offsets, batch = batch.column("offset").to_numpy(), batch.drop_columns(["offset"])
            order = Order.of_partition(rank, offsets, timestamps, highest_ms, latest_ms)
            highest_ms, offset = int(order.time_ms[-1]), int(order.offset[-1]) + 1
            yield batch, order


def _raw_frames(
    plan: Plan,
    targets: Sequence[tuple[Stage, int]],
    topic: str,
    partition: int,
    chunks: Iterable[tuple[pa.RecordBatch, Order]],
) -> Iterator[Frame]:
    """Frames with unchanged records, one copy for each target: a stage and the route of a task."""
    rank, seq = plan.ranks[topic, partition], 0
    for batch, order in chunks:
        payload = frames.encode(batch, order)
        for stage, target in targets:
            yield Frame(
                stage=stage.index,
                target=target,
                hop=INGEST,
                origin=rank,
                seq=seq,
                channel=plan.channels[topic],
                payload=payload,
            )
        seq += batch.num_rows


def _run_inline(
    plan: Plan,
    stage: Stage,
    topic: str,
    partition: int,
    chunks: Iterable[tuple[pa.RecordBatch, Order]],
    clock_ms: int,
) -> Iterator[Frame]:
    """Runs the task of a stage without state right here, in the read task, and yields the frames that it writes."""
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
