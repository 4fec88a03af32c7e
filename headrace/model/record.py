"""Records of a stream, and changes of a table's rows. Both are immutable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from headrace.errors import StreamsError
from headrace.model.time.end_of_time import END_OF_TIME_MS

# Covariant, because records are immutable: a `Record[str, bool]` is a `Record[str, int]`.
K = TypeVar("K", covariant=True)
V = TypeVar("V", covariant=True)
K2 = TypeVar("K2")
V2 = TypeVar("V2")

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]


def check_timestamp(timestamp_ms: object, subject: str) -> None:
    """Raises a `StreamsError` that begins with `subject` if a timestamp is not a whole number."""
    if not isinstance(timestamp_ms, Integral):
        message = f"{subject} {timestamp_ms!r}; a timestamp is a whole number of milliseconds."
        raise StreamsError(message)


def check_event_time(timestamp_ms: Any, subject: str) -> None:
    """Raises a `StreamsError` that begins with `subject` if a timestamp is not a whole number from 0 to 2**63 - 1."""
    check_timestamp(timestamp_ms, subject)
    if not 0 <= timestamp_ms <= END_OF_TIME_MS:
        allowed = "0 or greater" if timestamp_ms < 0 else f"at most {END_OF_TIME_MS}"
        message = f"{subject} {timestamp_ms}; a timestamp is {allowed}."
        raise StreamsError(message)


def check_headers(headers: object, subject: str) -> None:
    """Raises a `StreamsError` that begins with `subject` unless headers are a tuple of pairs of text and bytes."""
    if isinstance(headers, tuple):
        for pair in headers:
            if not isinstance(pair, tuple) or len(pair) != 2:
                break
            name, value = pair
            if not isinstance(name, str) or not (value is None or isinstance(value, bytes)):
                break
        else:  # every pair is right
            return
    message = (
        f"{subject} {headers!r}; headers are a tuple of pairs of a name and bytes or None, such as "
        '(("source", b"web"), ("flag", None)). Turn text into bytes with text.encode().'
    )
    raise StreamsError(message)


def header_pairs(headers: object) -> Any:
    """Converts an iterable of pairs to a tuple of tuples, as `check_headers` expects; returns anything else as is."""
    if isinstance(headers, Iterable) and not isinstance(headers, Mapping | str | bytes):
        return tuple(tuple(pair) if isinstance(pair, list) else pair for pair in headers)
    return headers


class Record(msgspec.Struct, Generic[K, V], frozen=True, eq=False, gc=False):
    """One record of a stream. It is immutable: the `with_*` methods return changed copies.

    Args:
        key: the key; `None` for a record without one.
        value: the value; `None` marks a deletion in a table.
        timestamp_ms: event time in epoch milliseconds. A record without one (`None`) gets a timestamp when a processor
            forwards it; see `ProcessorContext.forward`.
        headers: a tuple of pairs of a name and bytes or `None`.
        partition: in records that were read from a topic, their partition; in records that a test pipes, the partition
            to pipe to. Processors do not need it: copies do not have it, and comparisons ignore it.

    Raises:
        StreamsError: for a timestamp that is negative, greater than 2**63 - 1 or not a whole number, and for headers
            that are not pairs of text and bytes or `None`.

    Example:
        >>> Record("alice", 1, 12).with_value(2)
        Record(key='alice', value=2, timestamp_ms=12)
    """

    key: K
    value: V
    timestamp_ms: int | None = None
    headers: Headers = ()
    partition: int | None = None

    def __post_init__(self) -> None:
        if self.headers:
            check_headers(self.headers, "Malformed record: headers are")
        if self.timestamp_ms is None:
            return
        if self.timestamp_ms.__class__ is not int or not 0 <= self.timestamp_ms <= END_OF_TIME_MS:
            check_event_time(self.timestamp_ms, "Malformed record: timestamp_ms is")

    def with_key(self, key: K2) -> Record[K2, V]:
        """Returns a copy with another key."""
        return Record(key, self.value, self.timestamp_ms, self.headers)

    def with_value(self, value: V2) -> Record[K, V2]:
        """Returns a copy with another value."""
        return Record(self.key, value, self.timestamp_ms, self.headers)

    def with_timestamp(self, timestamp_ms: int) -> Record[K, V]:
        """Returns a copy with another timestamp."""
        return Record(self.key, self.value, timestamp_ms, self.headers)

    def with_headers(self, headers: Headers | Mapping[str, bytes | None]) -> Record[K, V]:
        """Returns a copy with other headers.

        Args:
            headers: pairs of a name and bytes or `None`, or a dict of them. They replace all headers of the record.

        Raises:
            StreamsError: for anything else.
        """
        pairs = header_pairs(headers.items() if isinstance(headers, Mapping) else headers)
        return Record(self.key, self.value, self.timestamp_ms, pairs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (
            self.timestamp_ms == other.timestamp_ms
            and self.key == other.key
            and self.value == other.value
            and self.headers == other.headers
        )

    def __hash__(self) -> int:
        return hash((self.key, self.value, self.timestamp_ms, self.headers))

    def __repr__(self) -> str:
        headers = f", headers={self.headers!r}" if self.headers else ""
        return f"Record(key={self.key!r}, value={self.value!r}, timestamp_ms={self.timestamp_ms}{headers})"


class Change(msgspec.Struct, Generic[V], frozen=True):
    """A change of a table's row: the new value and, if an operator downstream needs it, the old value.

    Without such an operator, `old` is `None`. `is_latest` is false for a change of a versioned table that arrived late:
    its row already has a newer version.

    Example:
        >>> Change("Bern", "Basel").old
        'Basel'
    """

    new: V | None
    old: V | None
    is_latest: bool = True
