"""Results that a Kafka topic would refuse, e.g. as too large: the handler of production errors decides about each.

The sink knows only the topic, partition and offset of the input record behind a result. If the handler needs the input
record itself, it is read again.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headrace._core.errors.dead_letters import letter_headers
from headrace._core.errors.failure import processing_error
from headrace._core.errors.handlers import DropLog, HandlerAnswer
from headrace._core.metrics import Metrics
from headrace._core.partitioning import output_partition
from headrace._core.task.order import CLOCK
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages import frames
from headrace.model.error_handlers import ErrorHandlerContext
from headrace.model.processor import RecordMetadata
from headrace.model.record import Headers, Record
from headrace.topics.kafka.cluster import KafkaCluster, Place
from headrace.topics.kafka.rules import OutgoingRecord, Refusal, TopicRules

_FULL_LENGTH = "headrace.error.value_bytes"


class Provenance(NamedTuple):
    """Where a result comes from: the stage and task that wrote it (see `Frame`), and its input record.

    `source` is the rank of a topic-partition, or `CLOCK` for the result of a wall-clock punctuation.
    """

    hop: int
    origin: int
    source: int
    offset: int


class _RefusedRecord(NamedTuple):
    record: OutgoingRecord
    refusal: Refusal
    provenance: Provenance


class _InputRecord(NamedTuple):
    """The input record behind a result; empty for the result of a wall-clock punctuation."""

    key: bytes | None = None
    value: bytes | None = None
    timestamp_ms: int | None = None
    headers: Headers = ()


class _Drop(NamedTuple):
    """A dropped result: `failed` describes it, as the handler got it, and `answer` is the handler's response."""

    failed: ErrorHandlerContext
    answer: HandlerAnswer


class ProductionErrors:
    """The refused results of one sink task in a batch."""

    def __init__(self, plan: Plan, cluster: KafkaCluster, rules: Mapping[str, TopicRules], metrics: Metrics) -> None:
        self._plan = plan
        self._cluster = cluster
        self._handlers = plan.error_handlers
        self._metrics = metrics
        self._rules = rules
        self._undecided: list[_RefusedRecord] = []
        self._log = DropLog()
        self.now_ms = time.time_ns() // 1_000_000

    def handle(self, record: OutgoingRecord, refusal: Refusal, provenance: Provenance) -> Iterator[OutgoingRecord]:
        """Handles a refused record at once if its input record is not needed for that.

        A dead letter that is refused is yielded in a form that its topic accepts. A handler that is just "fail" or
        "continue" is asked at once. Other refused records wait for `dead_letters`, which reads all their input records.

        Raises:
            Stop: if the handler stops the application.
        """
        if record.topic == self._handlers.dead_letter_topic:
            yield self._fit(record)
        elif isinstance(self._handlers.production, str) and self._handlers.production != "dead_letter":
            self._decide(_RefusedRecord(record, refusal, provenance), _InputRecord())
        else:
            self._undecided.append(_RefusedRecord(record, refusal, provenance))

    def dead_letters(self) -> Iterator[OutgoingRecord]:
        """Asks the handler about the refused records that wait, once all are known, and yields their dead letters."""
        inputs = self._inputs()
        for refused in self._undecided:
            read = inputs.get((refused.provenance.source, refused.provenance.offset), _InputRecord())
            yield from self._letters(self._decide(refused, read), read, refused.provenance)
        self._log.end_batch()

    def _decide(self, refused: _RefusedRecord, read: _InputRecord) -> _Drop:
        """Asks the handler about a result that Kafka would refuse. Unless it says "fail", counts the result as dropped.

        `read` is the input record that the result descends from.

        Raises:
            Stop: if the handler says "fail".
        """
        record, refusal, provenance = refused
        stage = self._plan.stages[provenance.hop]
        sub = stage.blueprint.sub
        sinks = [sink.name for sink in sub.sinks if sink.topic == record.topic]
        sinks = sinks or [sink.name for sink in sub.dynamic_sinks]
        operator, error = " or ".join(sinks), refusal.error(record)
        partition = self._plan.places[provenance.origin][1] if stage.inline else provenance.origin
        task_id, time_ms = f"{stage.blueprint.sub.number}_{partition}", record.timestamp_ms
        place = RecordMetadata(topic=None, partition=-1, offset=-1)
        if provenance.source != CLOCK:
            place = RecordMetadata(*self._plan.places[provenance.source], provenance.offset)
        raised = processing_error(error, task_id, place, key=record.key, timestamp_ms=time_ms, operator=operator)
        failed = ErrorHandlerContext(
            "production",
            refusal.reason.value,
            operator,
            task_id,
            *place,
            time_ms,
            read.key,
            read.value,
            read.headers,
            error,
            output_topic=record.topic,
            output_key=record.key,
            output_value=record.value,
        )
        answer = self._handlers.answer(failed, raised)
        self._log.add(failed, str(raised), self._handlers.dead_letter_topic if answer.dead_letter else None)
        self._metrics.dropped(operator, refusal.reason)
        self._metrics.add(f"topic {record.topic}", "records_out", -1)
        return _Drop(failed, answer)

    def _letters(self, drop: _Drop, read: _InputRecord, provenance: Provenance) -> Iterator[OutgoingRecord]:
        failed, answer = drop
        letters = answer.letters
        if letters is None:
            default = Record(read.key, read.value, None, letter_headers(failed))
            letters = [default] if answer.dead_letter else []
        for letter in letters:
            yield self._dead_letter(failed, letter, read, provenance)

    def _dead_letter(
        self,
        failed: ErrorHandlerContext,
        letter: Record[bytes | None, bytes | None],
        read: _InputRecord,
        provenance: Provenance,
    ) -> OutgoingRecord:
        topic = self._handlers.dead_letter_topic
        assert topic is not None
        self._metrics.add(failed.operator, "dead_letters")
        self._metrics.add(f"topic {topic}", "records_out")
        partition = output_partition(letter.key, provenance.origin, self._plan.partitions[topic])
        timestamp_ms = letter.timestamp_ms
        if timestamp_ms is None:
            timestamp_ms = failed.timestamp_ms if read.timestamp_ms is None else read.timestamp_ms
        return self._fit(OutgoingRecord(topic, partition, letter.key, letter.value, timestamp_ms, letter.headers))

    def _fit(self, letter: OutgoingRecord) -> OutgoingRecord:
        """Makes a dead letter acceptable to its topic: moves its timestamp into range, and truncates its value."""
        rules = self._rules[letter.topic]
        letter = letter._replace(timestamp_ms=rules.accepted_ms(letter.timestamp_ms, self.now_ms))
        value = letter.value
        if value and rules.excess(letter):
            letter = letter._replace(headers=(*letter.headers, (_FULL_LENGTH, str(len(value)).encode())))
            letter = letter._replace(value=value[: max(0, len(value) - rules.excess(letter))])
        refusal = rules.refusal(letter, self.now_ms)
        if refusal is not None:
            raise refusal.error(letter)
        return letter

    def _inputs(self) -> dict[tuple[int, int], _InputRecord]:
        """Reads the input records behind refused records, by the rank of their topic-partition and their offset."""
        wanted: defaultdict[int, set[int]] = defaultdict(set)
        for _, _, provenance in self._undecided:
            if provenance.source != CLOCK:
                wanted[provenance.source].add(provenance.offset)
        return {
            (source, offset): record
            for source, offsets in wanted.items()
            for offset, record in self._read(self._plan.places[source], offsets)
        }

    def _read(self, place: Place, offsets: set[int]) -> Iterator[tuple[int, _InputRecord]]:
        for batch in self._cluster.read(*place, min(offsets), max(offsets) + 1):
            columns = frames.to_columns(batch)
            headers = columns.headers or [()] * len(columns.keys)
            rows = zip(columns.keys, columns.values, columns.timestamps, headers, strict=True)
            for offset, row in zip(batch.column("offset").to_pylist(), rows, strict=True):
                if offset in offsets:
                    yield offset, _InputRecord(*row)
