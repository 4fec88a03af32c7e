"""Writes topics on Kafka: each Spark task its part of a batch, in one transaction, and once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import pyarrow as pa
from pyspark import TaskContext

from headrace._core.handlers import stopping
from headrace._core.metrics import Metrics
from headrace._core.order import sorted_rows
from headrace._runtime.spark import frames
from headrace._runtime.spark.frames import Frame
from headrace._runtime.spark.kafka_refusals import Maker, Refusals
from headrace._runtime.spark.plan import Plan
from headrace._runtime.spark.topics_writer import RoutingWriter, Written
from headrace.errors import StreamsError
from headrace.topics._batches import concatenated
from headrace.topics._segments import ORDER_SCHEMA
from headrace.topics.kafka_cluster import KafkaCluster
from headrace.topics.kafka_commits import Commits
from headrace.topics.kafka_groups import ConsumerGroup
from headrace.topics.kafka_send import Outgoing, write_at_least_once
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
        output = _Output(plan, plan.broker, outputs)
        with stopping():
            self._write(plan, plan.broker, output)
        metrics.merge(output.metrics)
        return []

    def _write(self, plan: Plan, broker: KafkaCluster, output: _Output) -> None:
        rules = output.rules.values()
        if not plan.exactly_once:
            write_at_least_once(broker, output.records(), rules)
            return
        context = TaskContext.get()
        batch = context.getLocalProperty(_BATCH_ID) if context else None
        if context is None or batch is None:
            message = (
                "Spark did not tell the number of the micro-batch; processing_guarantee='at_least_once' needs none."
            )
            raise StreamsError(message)
        commits = Commits(broker, plan.application_id, plan.instance, plan.epoch)
        if not commits.write(context.partitionId(), int(batch), output.records, rules):
            for _ in output.records():
                """What is refused of a batch is counted with the attempt that completes it."""

    def publish(self, plan: Plan, written: list[Written], batch: int) -> None:  # noqa: ARG002
        """Lets tools that show the lag of consumer groups see how far the application is."""
        assert plan.broker is not None
        read = {key: offset for message in written for key, offset in message.offsets.items()}
        if read:
            named = ((key.rpartition("-"), offset) for key, offset in read.items())
            ConsumerGroup(plan.broker, plan.application_id).commit(
                {(topic, int(partition)): offset for (topic, _, partition), offset in named}
            )


class _Output:
    """What a Spark task has to write for a batch; `metrics` count what its newest attempt left out."""

    def __init__(self, plan: Plan, broker: KafkaCluster, frames: list[Frame]) -> None:
        self._plan = plan
        self._broker = broker
        self._frames = sorted(frames, key=lambda frame: (frame.channel, frame.target))
        letters = plan.error_handlers.dead_letter_topic
        self.rules = broker.rules({plan.topics[frame.channel] for frame in frames} | ({letters} if letters else set()))
        self.metrics = Metrics()

    def records(self) -> Iterator[Outgoing]:
        """Those of a topic-partition in the one order; behind all of them dead letters of those refused."""
        self.metrics = Metrics()
        refusals = Refusals(self._plan, self._broker, self.rules, self.metrics)
        for (channel, target), group in groupby(self._frames, key=lambda frame: (frame.channel, frame.target)):
            outgoing = Outgoing(self._plan.topics[channel], target, _merged(list(group)))
            refused = list(outgoing.refused(self.rules[outgoing.topic], refusals.now_ms))
            yield outgoing.without(number for number, _, _ in refused) if refused else outgoing
            for number, record, refusal in refused:
                yield from map(Outgoing.of, refusals.instead(record, refusal, _maker(outgoing.records, number)))
        yield from map(Outgoing.of, refusals.letters())


def _maker(rows: pa.RecordBatch, number: int) -> Maker:
    hop, seq, source, offset = (rows.column(name)[number].as_py() for name in ("hop", "seq", "source", "position"))
    return Maker(hop, frames.origin_of(seq), source, offset)


def _merged(group: Sequence[Frame]) -> pa.RecordBatch:
    made = sorted(group, key=lambda frame: (frame.hop, frame.origin, frame.seq))
    batches = [
        frames.with_log_order(frames.decode(frame.payload), frame.hop, frame.origin, frame.seq) for frame in made
    ]
    table = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="default")
    rows = sorted_rows([table.column(name).to_numpy() for name in ORDER_SCHEMA.names])
    return concatenated((table if rows is None else table.take(pa.array(rows))).to_batches())
