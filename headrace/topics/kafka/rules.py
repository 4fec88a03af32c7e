"""Which records a Kafka topic refuses, checked before sending: a refused record aborts the whole transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace._core.drop_reasons import DropReason
from headrace.errors import TopicError
from headrace.model.record import Headers
from headrace.serdes.base import shortened

NO_LIMIT_MS = (1 << 63) - 1
_BATCH_BYTES = 61
_RECORD_BYTES = 3  # attributes, and the deltas to the batch's own timestamp and offset, which are 0
_MAX_OVERHEAD_BYTES = 96  # added to key and value, if there are no headers


class OutgoingRecord(NamedTuple):
    """A record, and the topic-partition it is written to."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers

    @property
    def size(self) -> int:
        """The bytes of an uncompressed batch with only this record: the broker compares it with `max.message.bytes`."""
        fields = [self.key, self.value]
        size = _RECORD_BYTES + _varint_size(len(self.headers))
        for name, value in self.headers:
            encoded = name.encode()
            size += _varint_size(len(encoded)) + len(encoded)
            fields.append(value)
        for data in fields:
            size += 1 if data is None else _varint_size(len(data)) + len(data)
        return _BATCH_BYTES + _varint_size(size) + size


class Refusal(NamedTuple):
    """Why a topic refuses a record: a `reason` for metrics, and `why`, the rest of a sentence about the record."""

    reason: DropReason
    why: str

    def error(self, record: OutgoingRecord) -> TopicError:
        return TopicError(f"A record for topic {record.topic!r} (key {shortened(record.key)}) {self.why}.")


class TopicRules(NamedTuple):
    """The settings of a topic that can make a broker refuse single records.

    `max_bytes` is the size limit of a record, `None` if unknown. If the producer sends `compressed` records, the broker
    compares their compressed size with the limit. It is not known before sending, so sizes are not checked. A
    `compacted` topic refuses records without a key. `before_ms` and `after_ms` are how far a timestamp may be behind
    and ahead of the current time.
    """

    max_bytes: int | None = None
    compressed: bool = False
    compacted: bool = False
    before_ms: int = NO_LIMIT_MS
    after_ms: int = NO_LIMIT_MS

    @classmethod
    def of(cls, settings: Mapping[str, str], *, compressed: bool) -> TopicRules:
        """The rules that follow from `settings`, the configuration of a topic on Kafka."""
        checks_timestamps = settings.get("message.timestamp.type") != "LogAppendTime"
        return cls(
            int(settings["max.message.bytes"]),
            compressed,
            "compact" in settings["cleanup.policy"],
            int(settings.get("message.timestamp.before.max.ms", NO_LIMIT_MS)) if checks_timestamps else NO_LIMIT_MS,
            int(settings.get("message.timestamp.after.max.ms", NO_LIMIT_MS)) if checks_timestamps else NO_LIMIT_MS,
        )

    def refusal(self, record: OutgoingRecord, now_ms: int) -> Refusal | None:
        """Why the topic refuses a record; `None` if it accepts it."""
        excess = self.excess(record)
        if excess:
            why = (
                f"has {record.size:,} bytes, and the topic accepts up to {self.max_bytes:,}. Raise the topic's "
                "max.message.bytes, or write smaller records"
            )
            return Refusal(DropReason.RECORD_TOO_LARGE, why)
        if self.compacted and record.key is None:
            return Refusal(DropReason.KEY_MISSING, "has no key, and the topic is compacted. Give it one")
        time_ms = record.timestamp_ms
        if not time_ms:
            why = (
                "has timestamp 0, which Kafka's C client replaces with the current time. Use a timestamp of 1 ms or "
                "more"
            )
            return Refusal(DropReason.TIMESTAMP_OUT_OF_RANGE, why)
        if self.accepted_ms(time_ms, now_ms) != time_ms:
            side, limit = ("ahead", "after") if time_ms > now_ms else ("ago", "before")
            why = (
                f"has timestamp {time_ms}, {abs(time_ms - now_ms):,} ms {side}, farther than the topic's "
                f"message.timestamp.{limit}.max.ms"
            )
            return Refusal(DropReason.TIMESTAMP_OUT_OF_RANGE, why)
        return None

    def suspect_rows(self, records: pa.RecordBatch, now_ms: int) -> list[int]:
        """The rows that the topic may refuse, found by a fast check; `refusal` decides about each of them."""
        times = records.column("timestamp").to_numpy()
        near = np.clip(times, 1, None) - now_ms
        doubt = (times < 1) | (near < -self.before_ms) | (near > self.after_ms)
        if self.compacted:
            doubt |= records.column("key").is_null().to_numpy(zero_copy_only=False)
        if self.max_bytes is not None and not self.compressed:
            sizes = [pc.fill_null(pc.binary_length(records.column(name)), 0).to_numpy() for name in ("key", "value")]
            doubt |= sum(size.astype(np.int64) for size in sizes) + _MAX_OVERHEAD_BYTES > self.max_bytes
            if "headers" in records.schema.names:
                doubt |= records.column("headers").is_valid().to_numpy(zero_copy_only=False)
        rows: list[int] = np.flatnonzero(doubt).tolist()
        return rows

    def excess(self, record: OutgoingRecord) -> int:
        """By how many bytes a record is too large; 0 if it is not, or if its size is not checked."""
        if self.max_bytes is None or self.compressed:
            return 0
        upper_bound = len(record.key or b"") + len(record.value or b"") + _MAX_OVERHEAD_BYTES
        return max(0, record.size - self.max_bytes) if record.headers or upper_bound > self.max_bytes else 0

    def accepted_ms(self, time_ms: int, now_ms: int) -> int:
        """The timestamp, but at least 1, if the topic accepts it; `now_ms` if it is too far from now."""
        time_ms = max(1, time_ms)
        return time_ms if -self.before_ms <= time_ms - now_ms <= self.after_ms else now_ms


def _varint_size(length: int) -> int:
    """How many bytes Kafka needs to encode a length."""
    return max(1, -(-(2 * length).bit_length() // 7))
