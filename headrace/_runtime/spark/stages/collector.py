"""Takes what the sinks of a task write and packs it into frames for the next stages and the output topics."""

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
from headrace._runtime.spark.stages.frames import TO_SINK, Frame
from headrace.model.record import Headers

_MAX_ROWS = 50_000
_MAX_BYTES = 4 << 20


class FrameCollector:
    """One per task and batch. `hop` is the stage that writes, `origin` tells its tasks apart."""

    def __init__(self, plan: Plan, hop: int, origin: int, partition: int) -> None:
        self._plan = plan
        self._hop = hop
        self._origin = origin
        self._partition = partition
        self._seq = 0
        self._outputs: dict[str, _Output] = {}
        self._ready: list[Frame] = []
        self.context: TaskContext

    def send(self, topic: str, key: bytes | None, value: bytes | None, timestamp_ms: int, headers: Headers) -> None:
        output = self._outputs.get(topic)
        if output is None:
            output = self._outputs[topic] = _Output()
        output.keys.append(key)
        output.values.append(value)
        output.timestamps.append(timestamp_ms)
        output.headers.append(headers)
        output.positions.append(self.context.position)
        if value is not None:
            output.bytes += len(value)
        if len(output.keys) >= _MAX_ROWS or output.bytes >= _MAX_BYTES:
            self._pack(topic, output)

    def send_batch(self, topic: str, batch: Batch) -> None:
        """Packs a batch at once; a topic is written by records or by batches, never by both."""
        names = ["key", "value", "timestamp"] + (["headers"] if batch.headers is not None else [])
        columns = [batch.keys, batch.values, pa.array(batch.timestamps), batch.headers][: len(names)]
        records = pa.RecordBatch.from_arrays(columns, names=names)
        self._add(topic, records, self.context.order.take(batch.positions), self._targets(topic, records))

    def drain(self) -> Iterator[Frame]:
        """Frames that are complete."""
        ready, self._ready = self._ready, []
        return iter(ready)

    def finish(self) -> Iterator[Frame]:
        """All frames that are left."""
        for topic, output in self._outputs.items():
            if output.keys:
                self._pack(topic, output)
        return self.drain()

    def _pack(self, topic: str, output: _Output) -> None:
        headers = output.headers if any(output.headers) else None
        records = frames.from_columns(output.keys, output.values, output.timestamps, headers)
        order = self.context.order.take(np.array(output.positions, np.intp))
        self._outputs[topic] = _Output()
        self._add(topic, records, order, self._targets(topic, records))

    def _add(self, topic: str, records: pa.RecordBatch, order: Order, targets: np.ndarray) -> None:
        """Packs records for a topic; `targets` are their partitions."""
        if topic not in self._plan.internal_topics:
            self.context.metrics.add(f"topic {topic}", "records_out", records.num_rows)
        by_target = np.argsort(targets, kind="stable")
        found, starts = np.unique(targets[by_target], return_index=True)
        bounds = [*starts.tolist(), len(targets)]
        whole = len(found) == 1
        for target, start, stop in zip(found.tolist(), bounds, bounds[1:], strict=False):
            chosen = by_target[start:stop]
            part, part_order = (records, order) if whole else (records.take(pa.array(chosen)), order.take(chosen))
            self._ready.append(self._frame(topic, target, frames.encode(part, part_order)))
            self._seq += part.num_rows

    def _targets(self, topic: str, records: pa.RecordBatch) -> np.ndarray:
        count = self._plan.partitions[topic]
        if count == 1 or topic in self._plan.relays:
            return np.full(records.num_rows, self._partition % count, np.int32)
        keys = records.column("key")
        window = self._plan.key_suffixes.get(topic)
        targets = partitions_for(keys if window is None else pc.binary_slice(keys, 0, -window), count)
        # a record without a key has no partition of its own: it stays beside its task, the same after every restart
        return np.where(targets < 0, self._partition % count, targets)

    def _frame(self, topic: str, partition: int, payload: bytes) -> Frame:
        plan = self._plan
        if topic in plan.internal_topics:
            stage = plan.reader_of[topic]
            destination, target = stage.index, plan.routes[stage.index][0][partition]
        else:
            destination, target = TO_SINK, partition
        return Frame(destination, target, self._hop, self._origin, self._seq, plan.channels[topic], payload)


class _Output:
    """Records for one topic, not yet packed; in columns, which cost the garbage collector nothing."""

    __slots__ = ("bytes", "headers", "keys", "positions", "timestamps", "values")

    def __init__(self) -> None:
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.timestamps: list[int] = []
        self.headers: list[Headers] = []
        self.positions: list[int] = []
        self.bytes = 0
