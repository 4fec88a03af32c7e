"""Writes topics on Kafka: each Spark task its part of a batch, in one transaction, and once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from headrace._core.handlers import stopping
from headrace._core.metrics import Metrics
from headrace._runtime.spark import frames
from headrace._runtime.spark.frames import Frame
from headrace._runtime.spark.kafka_refusals import Maker, Refusals
from headrace._runtime.spark.plan import Plan
from headrace._runtime.spark.topics_writer import RoutingWriter, Written
from headrace.errors import StreamsError
from headrace.record import Headers
from headrace.topics._batches import concatenated
from headrace.topics._segments import ORDER_SCHEMA
from headrace.topics.kafka_cluster import KafkaCluster
from headrace.topics.kafka_commits import Commits, write_at_least_once
from headrace.topics.kafka_rules import Outgoing, TopicRules
from headrace.topics.log import Run

_BATCH_ID = "streaming.sql.batchId"


class KafkaWriter(RoutingWriter):
    """Writes all output topics of a query.

    A task that has written its part of a batch skips it when the batch is repeated. It is the same part then: which
    records a Spark partition has depends on offsets, and on what the state directory keeps.
    """

    def put(self, plan: Plan, outputs: list[Frame], metrics: Metrics) -> list[Run]:
        assert plan.broker is not None
        if not outputs:
            return []
        refusals = Refusals(plan, plan.broker, [plan.topics[frame.channel] for frame in outputs], metrics)
        with stopping():
            self._write(plan, plan.broker, outgoing(plan, outputs, refusals), refusals.rules.values())
        return []

    def _write(
        self, plan: Plan, broker: KafkaCluster, records: Iterator[Outgoing], rules: Iterable[TopicRules]
    ) -> None:
        if not plan.exactly_once:
            write_at_least_once(broker, records, rules)
            return
        context = TaskContext.get()
        batch = context.getLocalProperty(_BATCH_ID) if context else None
        if context is None or batch is None:
            message = (
                "Spark did not tell the number of the micro-batch; processing_guarantee='at_least_once' needs none."
            )
            raise StreamsError(message)
        commits = Commits(broker, plan.application_id, plan.instance, plan.epoch)
        if not commits.write(context.partitionId(), int(batch), records, rules):
            for _ in records:
                """What is refused of a batch is counted with the attempt that completes it."""

    def publish(self, plan: Plan, written: list[Written], batch: int) -> None:  # noqa: ARG002
        """Lets tools that show the lag of consumer groups see how far the application is."""
        assert plan.broker is not None
        read = {key: offset for message in written for key, offset in message.offsets.items()}
        if read:
            named = ((key.rpartition("-"), offset) for key, offset in read.items())
            plan.broker.commit_offsets(
                plan.application_id, {(topic, int(partition)): offset for (topic, _, partition), offset in named}
            )


def outgoing(plan: Plan, outputs: list[Frame], refusals: Refusals) -> Iterator[Outgoing]:
    """The records of frames: those of a topic-partition in the one order; behind them dead letters of those refused."""
    by_place = sorted(outputs, key=lambda frame: (frame.channel, frame.target))
    for (channel, target), group in groupby(by_place, key=lambda frame: (frame.channel, frame.target)):
        topic, rows = plan.topics[channel], _merged(list(group))
        all_taken = refusals.none_of(topic, rows)
        for number, (key, value, timestamp_ms, headers) in enumerate(_records(rows)):
            record = Outgoing(topic, target, key, value, timestamp_ms, headers)
            refusal = None if all_taken else refusals.of(record)
            if refusal is None:
                yield record
            else:
                yield from refusals.instead(record, refusal, _maker(rows, number))
    yield from refusals.letters()


def _merged(group: Sequence[Frame]) -> pa.RecordBatch:
    batches = [
        frames.with_log_order(frames.decode(frame.payload), frame.hop, frame.origin, frame.seq) for frame in group
    ]
    rows = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="default")
    order = [rows.column(name).to_numpy() for name in reversed(ORDER_SCHEMA.names)]
    return concatenated(rows.take(pa.array(np.lexsort(order))).to_batches())


def _records(rows: pa.RecordBatch) -> Iterator[tuple[bytes | None, bytes | None, int, Headers]]:
    columns = frames.to_columns(rows)
    headers = columns.headers or [()] * len(columns.keys)
    return zip(columns.keys, columns.values, columns.timestamps, headers, strict=True)


def _maker(rows: pa.RecordBatch, number: int) -> Maker:
    hop, seq, source, offset = (rows.column(name)[number].as_py() for name in ("hop", "seq", "source", "position"))
    return Maker(hop, frames.origin_of(seq), source, offset)
