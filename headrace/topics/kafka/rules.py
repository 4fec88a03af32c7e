"""What a topic of Kafka takes, known before anything is sent: a record that a broker refuses spoils its transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import TopicError
from headrace.model.record import Headers
from headrace.serdes.base import shortened

NO_LIMIT_MS = (1 << 63) - 1
_BATCH_BYTES = 61
_MARK_BYTES = 3  # attributes, and the differences to the batch's own time and offset, which are 0
_MOST_ADDED_BYTES = 96  # to key and value, if there are no headers


class OutgoingRecord(NamedTuple):
    """A record with its place to go to."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers

    @property
    def size(self) -> int:
        """Its bytes on the way to Kafka, alone and uncompressed."""
        fields = [self.key, self.value]
        size = _MARK_BYTES + _varint(len(self.headers))
        for name, value in self.headers:
            encoded = name.encode()
            size += _varint(len(encoded)) + len(encoded)
            fields.append(value)
        for data in fields:
            size += 1 if data is None else _varint(len(data)) + len(data)
        return _BATCH_BYTES + _varint(size) + size


class Refusal(NamedTuple):
    """Why a topic does not take a record: as metrics count it, and as a sentence."""

    reason: str
    why: str

    def error(self, record: OutgoingRecord) -> TopicError:
        """The error to raise."""
        return TopicError(f"A record for topic {record.topic!r} (key {shortened(record.key)}) {self.why}.")


class TopicRules(NamedTuple):
    """The settings of a topic that decide about single records.

    Where records are sent compressed, only the broker knows how large they are.
    """

    max_bytes: int | None = None
    compressed: bool = False
    compacted: bool = False
    before_ms: int = NO_LIMIT_MS
    after_ms: int = NO_LIMIT_MS

    @classmethod
    def of(cls, settings: Mapping[str, str], *, compressed: bool) -> TopicRules:
        """Those that the settings of a topic make."""
        judged = settings.get("message.timestamp.type") != "LogAppendTime"
        return cls(
            int(settings["max.message.bytes"]),
            compressed,
            "compact" in settings["cleanup.policy"],
            int(settings.get("message.timestamp.before.max.ms", NO_LIMIT_MS)) if judged else NO_LIMIT_MS,
            int(settings.get("message.timestamp.after.max.ms", NO_LIMIT_MS)) if judged else NO_LIMIT_MS,
        )

    def refusal(self, record: OutgoingRecord, now_ms: int) -> Refusal | None:
        """Why the topic does not take a record, `None` if it does."""
        excess = self.excess(record)
        if excess:
            why = (
                f"has {record.size:,} bytes, and the topic takes up to {self.max_bytes:,}. Raise the topic's "
                "max.message.bytes, or make smaller records"
            )
            return Refusal("record too large", why)
        if self.compacted and record.key is None:
            return Refusal("key missing", "has no key, and the topic is compacted. Give it one")
        time_ms = record.timestamp_ms
        if not time_ms:
            why = (
                "has timestamp 0, in place of which Kafka's C client would write the current time. Give records a "
                "timestamp of 1 ms or more"
            )
            return Refusal("timestamp out of range", why)
        if self.nearest_ms(time_ms, now_ms) != time_ms:
            side, limit = ("ahead", "after") if time_ms > now_ms else ("ago", "before")
            why = (
                f"has timestamp {time_ms}, {abs(time_ms - now_ms):,} ms {side}, farther than the topic's "
                f"message.timestamp.{limit}.max.ms"
            )
            return Refusal("timestamp out of range", why)
        return None

    def doubtful(self, records: pa.RecordBatch, now_ms: int) -> list[int]:
        """Numbers of the rows that the topic may not take: `refusal` tells. They are few, of many it takes."""
        times = records.column("timestamp").to_numpy()
        near = np.clip(times, 1, None) - now_ms
        doubt = (times < 1) | (near < -self.before_ms) | (near > self.after_ms)
        if self.compacted:
            doubt |= records.column("key").is_null().to_numpy(zero_copy_only=False)
        if self.max_bytes is not None and not self.compressed:
            sizes = [pc.fill_null(pc.binary_length(records.column(name)), 0).to_numpy() for name in ("key", "value")]
            doubt |= sum(size.astype(np.int64) for size in sizes) + _MOST_ADDED_BYTES > self.max_bytes
            if "headers" in records.schema.names:
                doubt |= records.column("headers").is_valid().to_numpy(zero_copy_only=False)
        found: list[int] = np.flatnonzero(doubt).tolist()
        return found

    def excess(self, record: OutgoingRecord) -> int:
        """By how many bytes a record is too large."""
        if self.max_bytes is None or self.compressed:
            return 0
        roughly = len(record.key or b"") + len(record.value or b"") + _MOST_ADDED_BYTES
        return max(0, record.size - self.max_bytes) if record.headers or roughly > self.max_bytes else 0

    def nearest_ms(self, time_ms: int, now_ms: int) -> int:
        """The timestamp itself, if the topic takes it; 1 for one below; now for one that is too far from it."""
        time_ms = max(1, time_ms)
        return time_ms if -self.before_ms <= time_ms - now_ms <= self.after_ms else now_ms


def _varint(length: int) -> int:
    """How many bytes Kafka needs for the number."""
    return max(1, -(-(2 * length).bit_length() // 7))
