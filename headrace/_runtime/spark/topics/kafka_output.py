"""The output of a sink task for Kafka, in the one order and without records that Kafka would refuse to store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import pyarrow as pa

from headrace._core.metrics import Metrics
from headrace._core.task.order import sorted_rows
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.frames import Frame, topic_of
from headrace._runtime.spark.topics.kafka_refusals import ProductionErrors, Provenance
from headrace.topics.batches import concatenate
from headrace.topics.embedded.segments import ORDER_SCHEMA
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.rules import TopicRules
from headrace.topics.kafka.send import OutgoingBatch


class TaskOutput:
    """The output of one sink task in a batch.

    `rules` has the settings of each output topic by which Kafka refuses records. `metrics` counts the records that the
    last call of `records` left out, and their dead letters.
    """

    def __init__(self, plan: Plan, broker: KafkaCluster, frames: list[Frame], rules: Mapping[str, TopicRules]) -> None:
        self._plan = plan
        self._broker = broker
        named = ((topic_of(frame, plan.topics), frame) for frame in frames)
        self._frames = sorted(named, key=_place)
        self.rules = rules
        self.metrics = Metrics()

    def records(self) -> Iterator[OutgoingBatch]:
        """Yields what to write: the records of each topic-partition in the one order, and dead letters.

        Records that Kafka would refuse are left out; the handler of production errors decides about each of them. If a
        transaction must be repeated, call it again: that resets `metrics`, and asks the handler again.
        """
        self.metrics = Metrics()
        errors = ProductionErrors(self._plan, self._broker, self.rules, self.metrics)
        for (topic, target), group in groupby(self._frames, key=_place):
            outgoing = OutgoingBatch(topic, target, _merge([frame for _, frame in group]))
            refused = list(outgoing.refusals(self.rules[outgoing.topic], errors.now_ms))
            yield outgoing.without(number for number, _, _ in refused) if refused else outgoing
            for number, record, refusal in refused:
                provenance = _provenance(outgoing.records, number)
                yield from map(OutgoingBatch.of, errors.handle(record, refusal, provenance))
        yield from map(OutgoingBatch.of, errors.dead_letters())


def _place(named: tuple[str, Frame]) -> tuple[str, int]:
    return named[0], named[1].target


def _provenance(rows: pa.RecordBatch, number: int) -> Provenance:
    hop, seq, source, offset = (rows.column(name)[number].as_py() for name in ("hop", "seq", "source", "position"))
    return Provenance(hop, frames.origin_of(seq), source, offset)


def _merge(group: Sequence[Frame]) -> pa.RecordBatch:
    produced = sorted(group, key=lambda frame: (frame.hop, frame.origin, frame.seq))
    batches = [
        frames.with_log_order(frames.decode(frame.payload), frame.hop, frame.origin, frame.seq) for frame in produced
    ]
    table = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="default")
    rows = sorted_rows([table.column(name).to_numpy() for name in ORDER_SCHEMA.names])
    return concatenate((table if rows is None else table.take(pa.array(rows))).to_batches())
