"""Results that a topic of Kafka does not take: the handler of production errors decides about each.

Where they are written, the input record behind a result is known by its place only; if it is needed it is read again.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headrace._core.errors.dead_letters import letter_headers
from headrace._core.errors.failure import processing_error
from headrace._core.metrics import Metrics
from headrace._core.partitioning import partition_for
from headrace._core.task.order import CLOCK
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages import frames
from headrace.errors import ProcessingError
from headrace.model.error_handlers import ErrorHandlerContext
from headrace.model.processor import RecordMetadata
from headrace.model.record import Headers
from headrace.topics.kafka.cluster import KafkaCluster, Place
from headrace.topics.kafka.rules import OutgoingRecord, Refusal, TopicRules

_HINT = "production_exception_handler='continue' or 'dead_letter' takes such results out."
_FULL_LENGTH = "headrace.error.value_bytes"


class Maker(NamedTuple):
    """Who made a result, of which input record: its stage, which of its tasks, rank of the place, offset."""

    hop: int
    origin: int
    source: int
    offset: int


class _Refused(NamedTuple):
    record: OutgoingRecord
    refusal: Refusal
    maker: Maker


class _Input(NamedTuple):
    """The input record behind a result; without one, what a clock fired."""

    key: bytes | None = None
    value: bytes | None = None
    timestamp_ms: int | None = None
    headers: Headers = ()


class Refusals:
    """Those of one Spark task and batch."""

    def __init__(self, plan: Plan, cluster: KafkaCluster, rules: Mapping[str, TopicRules], metrics: Metrics) -> None:
        self._plan = plan
        self._cluster = cluster
        self._handlers = plan.error_handlers
        self._metrics = metrics
        self._rules = rules
        self._open: list[_Refused] = []
        self.now_ms = time.time_ns() // 1_000_000

    def instead(self, record: OutgoingRecord, refusal: Refusal, maker: Maker) -> Iterator[OutgoingRecord]:
        """What can be written at once in place of a refused record.

        Raises:
            Stop: if the handler says so.
        """
        if record.topic == self._handlers.dead_letter_topic:
            yield self._fitting(record)
        elif isinstance(self._handlers.production, str) and self._handlers.production != "dead_letter":
            self._decide(_Refused(record, refusal, maker), _Input())
        else:
            self._open.append(_Refused(record, refusal, maker))

    def letters(self) -> Iterator[OutgoingRecord]:
        """The dead letters of all that was refused."""
        inputs = self._inputs()
        for refused in self._open:
            read = inputs.get((refused.maker.source, refused.maker.offset), _Input())
            failed = self._decide(refused, read)
            if failed is not None:
                yield self._letter(failed, read, refused.maker)

    def _decide(self, refused: _Refused, read: _Input) -> ErrorHandlerContext | None:
        """Counts it as dropped; returns what to say in a dead letter, if there is to be one."""
        record, refusal, maker = refused
        stage = self._plan.stages[maker.hop]
        sinks = [sink.name for sink in stage.blueprint.sub.sinks if sink.topic == record.topic]
        operator, error = " or ".join(sinks), refusal.error(record)
        partition = self._plan.places[maker.origin][1] if stage.inline else maker.origin
        task_id, time_ms = f"{stage.blueprint.sub.number}_{partition}", record.timestamp_ms
        place = RecordMetadata(None, -1, -1)
        if maker.source != CLOCK:
            place = RecordMetadata(*self._plan.places[maker.source], maker.offset)
        told = processing_error(error, task_id, place, key=record.key, timestamp_ms=time_ms, operator=operator)
        if self._handlers.production == "fail":
            told = ProcessingError(f"{told}\n{_HINT}")
        failed = ErrorHandlerContext(
            "production", refusal.reason, operator, task_id, *place, time_ms, read.key, read.value, read.headers, error
        )
        dead_letter = self._handlers.answer(failed, told) == "dead_letter"
        self._handlers.log_drop(failed, str(told), dead_letter=dead_letter)
        self._metrics.dropped(operator, refusal.reason)
        self._metrics.add(f"topic {record.topic}", "records_out", -1)
        return failed if dead_letter else None

    def _letter(self, failed: ErrorHandlerContext, read: _Input, maker: Maker) -> OutgoingRecord:
        topic = self._handlers.dead_letter_topic
        assert topic is not None
        self._metrics.add(failed.operator, "dead_letters")
        self._metrics.add(f"topic {topic}", "records_out")
        count = self._plan.partitions[topic]
        partition = maker.origin % count if read.key is None else partition_for(read.key, count)
        timestamp_ms = failed.timestamp_ms if read.timestamp_ms is None else read.timestamp_ms
        headers = letter_headers(failed)
        return self._fitting(OutgoingRecord(topic, partition, read.key, read.value, timestamp_ms, headers))

    def _fitting(self, letter: OutgoingRecord) -> OutgoingRecord:
        """A dead letter as its topic takes it: at the nearest time, and with the beginning of its value."""
        rules = self._rules[letter.topic]
        letter = letter._replace(timestamp_ms=rules.nearest_ms(letter.timestamp_ms, self.now_ms))
        value = letter.value
        if value and rules.excess(letter):
            letter = letter._replace(headers=(*letter.headers, (_FULL_LENGTH, str(len(value)).encode())))
            letter = letter._replace(value=value[: max(0, len(value) - rules.excess(letter))])
        refusal = rules.refusal(letter, self.now_ms)
        if refusal is not None:
            raise refusal.error(letter)
        return letter

    def _inputs(self) -> dict[tuple[int, int], _Input]:
        """The input records behind what was refused, by rank of their place and offset."""
        wanted: defaultdict[int, set[int]] = defaultdict(set)
        for _, _, maker in self._open:
            if maker.source != CLOCK:
                wanted[maker.source].add(maker.offset)
        return {
            (source, offset): found
            for source, offsets in wanted.items()
            for offset, found in self._read(self._plan.places[source], offsets)
        }

    def _read(self, place: Place, offsets: set[int]) -> Iterator[tuple[int, _Input]]:
        for batch in self._cluster.read(*place, min(offsets), max(offsets) + 1):
            columns = frames.to_columns(batch)
            headers = columns.headers or [()] * len(columns.keys)
            rows = zip(columns.keys, columns.values, columns.timestamps, headers, strict=True)
            for offset, row in zip(batch.column("offset").to_pylist(), rows, strict=True):
                if offset in offsets:
                    yield offset, _Input(*row)
