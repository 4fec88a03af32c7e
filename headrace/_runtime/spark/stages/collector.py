"""Collects the records that the sinks of a task write, in frames for the next stages and the output topics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace._core.columnar.batch import Batch
from headrace._core.partitioning import partitions_for
from headrace._core.task.context import TaskContext
from headrace._core.task.order import Order
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.frames import DYNAMIC, TO_SINK, Frame
from headrace._runtime.spark.topics.dynamic import missing_topic, open_topic
from headrace.model.record import Headers

_MAX_ROWS = 50_000
_MAX_BYTES = 4 << 20


class FrameCollector:
    """The collector of one task in one batch.

    `hop` is the index of the stage that writes, and `origin` identifies the task in it (see `Frame`). `partition` is
    the partition of the task; records without a key go to the same partition, modulo the number of partitions.
    """

    def __init__(self, plan: Plan, hop: int, origin: int, partition: int) -> None:
        self._plan = plan
        self._hop = hop
        self._origin = origin
        self._partition = partition
        self._seq = 0
        self._outputs: dict[str, _UnpackedRecords] = {}
        self._ready: list[Frame] = []
        self._dynamic: dict[str, int | None] = {}
        self.context: TaskContext

    def partitions_of(self, topic: str) -> int:
        count = self._plan.partitions.get(topic)
        return self.open_topic(topic) if count is None else count

    def open_topic(self, topic: str) -> int:
        if topic not in self._dynamic:
            self._dynamic[topic] = open_topic(self._plan, topic)
        count = self._dynamic[topic]
        if count is None:
            raise missing_topic(topic)
        return count

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        output = self._outputs.get(topic)
        if output is None:
            output = self._outputs[topic] = _UnpackedRecords()
        output.keys.append(key)
        output.values.append(value)
        output.timestamps.append(timestamp_ms)
        output.headers.append(headers)
        output.positions.append(self.context.position)
        if partition is not None:
            output.partitions[len(output.positions) - 1] = partition
        if value is not None:
            output.bytes += len(value)
        if len(output.keys) >= _MAX_ROWS or output.bytes >= _MAX_BYTES:
            self._pack(topic, output)

    def send_batch(self, topic: str, batch: Batch) -> None:
        """Packs a whole batch. A task writes to a topic either record by record or in batches, never both."""
        names = ["key", "value", "timestamp"] + (["headers"] if batch.headers is not None else [])
        columns = [batch.keys, batch.values, pa.array(batch.timestamps), batch.headers][: len(names)]
        records = pa.RecordBatch.from_arrays(columns, names=names)
        self._add(topic, records, self.context.order.take(batch.positions), self._targets(topic, records))

    def drain(self) -> Iterator[Frame]:
        """Returns and removes the frames that are ready to be sent."""
        ready, self._ready = self._ready, []
        return iter(ready)

    def finish(self) -> Iterator[Frame]:
        """Packs the remaining records, and returns all remaining frames."""
        for topic, output in self._outputs.items():
            if output.keys:
                self._pack(topic, output)
        return self.drain()

    def _pack(self, topic: str, output: _UnpackedRecords) -> None:
        headers = output.headers if any(output.headers) else None
        records = frames.from_columns(output.keys, output.values, output.timestamps, headers)
        order = self.context.order.take(np.array(output.positions, np.intp))
        self._outputs[topic] = _UnpackedRecords()
        targets = self._targets(topic, records)
        if output.partitions:
            targets[list(output.partitions)] = list(output.partitions.values())
        self._add(topic, records, order, targets)

    def _add(self, topic: str, records: pa.RecordBatch, order: Order, targets: np.ndarray) -> None:
        """Packs records for a topic into one frame for each partition; `targets` are the partitions of the records."""
        if topic not in self._plan.internal_topics:
            self.context.metrics.add(f"topic {topic}", "records_out", records.num_rows)
        by_target = np.argsort(targets, kind="stable")
        partitions, starts = np.unique(targets[by_target], return_index=True)
        bounds = [*starts.tolist(), len(targets)]
        whole = len(partitions) == 1
        dynamic = None if topic in self._plan.channels else topic
        for target, start, stop in zip(partitions.tolist(), bounds, bounds[1:], strict=False):
            chosen = by_target[start:stop]
            part, part_order = (records, order) if whole else (records.take(pa.array(chosen)), order.take(chosen))
            self._ready.append(self._frame(topic, target, frames.encode(part, part_order, dynamic)))
            self._seq += part.num_rows

    def _targets(self, topic: str, records: pa.RecordBatch) -> np.ndarray:
        count = self.partitions_of(topic)
        if count == 1 or topic in self._plan.relays:
            return np.full(records.num_rows, self._partition % count, np.int32)
        keys = records.column("key")
        window = self._plan.key_suffixes.get(topic)
        targets = partitions_for(keys if window is None else pc.binary_slice(keys, 0, -window), count)
        # Records without a key go to the partition of their task, so that it is the same after every restart.
        return np.where(targets < 0, self._partition % count, targets)

    def _frame(self, topic: str, partition: int, payload: bytes) -> Frame:
        plan = self._plan
        if topic in plan.internal_topics:
            stage = plan.stage_by_topic[topic]
            destination, target = stage.index, plan.routes[stage.index].tasks[partition]
        else:
            destination, target = TO_SINK, partition
        return Frame(
            stage=destination,
            target=target,
            hop=self._hop,
            origin=self._origin,
            seq=self._seq,
            channel=plan.channels.get(topic, DYNAMIC),
            payload=payload,
        )


class _UnpackedRecords:
    """Records for one topic that are not packed yet, as columns: a few lists are cheap for the garbage collector.

    `partitions` has the partitions that a partitioner chose, by row.
    """

    __slots__ = ("bytes", "headers", "keys", "partitions", "positions", "timestamps", "values")

    def __init__(self) -> None:
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.timestamps: list[int] = []
        self.headers: list[Headers] = []
        self.positions: list[int] = []
        self.partitions: dict[int, int] = {}
        self.bytes = 0
