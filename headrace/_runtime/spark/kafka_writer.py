"""Writes topics on Kafka: each Spark task its part of a batch, in one transaction, and once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from headrace._runtime.spark import frames
from headrace._runtime.spark.frames import Frame
from headrace._runtime.spark.plan import Plan
from headrace._runtime.spark.topics_writer import RoutingWriter, Written
from headrace.errors import StreamsError
from headrace.record import Headers
from headrace.topics._batches import concatenated
from headrace.topics._segments import ORDER_SCHEMA
from headrace.topics.kafka_commits import Commits, Outgoing, write_at_least_once
from headrace.topics.kafka_groups import ConsumerGroup
from headrace.topics.log import Run

_BATCH_ID = "streaming.sql.batchId"


class KafkaWriter(RoutingWriter):
    """Writes all output topics of a query.

    A task that has written its part of a batch skips it when the batch is repeated. It is the same part then: which
    records a Spark partition has depends on offsets, and on what the state directory keeps.
    """

    def put(self, plan: Plan, outputs: list[Frame]) -> list[Run]:
        assert plan.broker is not None
        if not outputs:
            return []
        if not plan.exactly_once:
            write_at_least_once(plan.broker, outgoing(plan, outputs))
            return []
        context = TaskContext.get()
        batch = context.getLocalProperty(_BATCH_ID) if context else None
        if context is None or batch is None:
            message = (
                "Spark did not tell the number of the micro-batch; processing_guarantee='at_least_once' needs none."
            )
            raise StreamsError(message)
        commits = Commits(plan.broker, plan.application_id, plan.instance, plan.epoch)
        commits.write(context.partitionId(), int(batch), outgoing(plan, outputs))
        return []

    def publish(self, plan: Plan, written: list[Written], batch: int) -> None:  # noqa: ARG002
        """Lets tools that show the lag of consumer groups see how far the application is."""
        assert plan.broker is not None
        read = {key: offset for message in written for key, offset in message.offsets.items()}
        if read:
            named = ((key.rpartition("-"), offset) for key, offset in read.items())
            ConsumerGroup(plan.broker, plan.application_id).commit(
                {(topic, int(partition)): offset for (topic, _, partition), offset in named}
            )


def outgoing(plan: Plan, outputs: list[Frame]) -> Iterator[Outgoing]:
    """The records of frames: those of a topic-partition in the one order."""
    by_place = sorted(outputs, key=lambda frame: (frame.channel, frame.target))
    for (channel, target), group in groupby(by_place, key=lambda frame: (frame.channel, frame.target)):
        topic = plan.topics[channel]
        for key, value, timestamp_ms, headers in _merged(list(group)):
            yield Outgoing(topic, target, key, value, timestamp_ms, headers)


def _merged(group: Sequence[Frame]) -> Iterator[tuple[bytes | None, bytes | None, int, Headers]]:
    batches = [
        frames.with_log_order(frames.decode(frame.payload), frame.hop, frame.origin, frame.seq) for frame in group
    ]
    rows = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="default")
    order = [rows.column(name).to_numpy() for name in reversed(ORDER_SCHEMA.names)]
    columns = frames.to_columns(concatenated(rows.take(pa.array(np.lexsort(order))).to_batches()))
    headers = columns.headers or [()] * len(columns.keys)
    return zip(columns.keys, columns.values, columns.timestamps, headers, strict=True)
