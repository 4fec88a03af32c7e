"""The clocks by which entries of a store expire: the highest time put into the store, or under each of its keys.

An entry expires when the clock has reached its time plus the retention. A clock is saved in the store it belongs to,
so it is as durable as the entries. Only a `CallerClock` saves nothing: there the caller of the store keeps the time.
"""

from __future__ import annotations

from typing import Protocol

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import KEY_TIME, STORE_TIME, time_at, time_bytes
from headrace.model.time.end_of_time import Time

UNKNOWN = -1


def last_expired_ms(clock_ms: Time, retention_ms: int) -> Time:
    """The latest time of the entries that have expired when their clock is at `clock_ms`. All later ones are live."""
    return clock_ms - retention_ms


def first_live_ms(clock_ms: int, retention_ms: int) -> int:
    """The earliest time of the entries that are live when their clock is at `clock_ms`; times are not negative."""
    return max(last_expired_ms(clock_ms, retention_ms) + 1, 0)


def expires_at_ms(time_ms: int, retention_ms: int) -> int:
    """The clock at which an entry with this time expires: the inverse of `last_expired_ms`."""
    return time_ms + retention_ms


class RetentionClock(Protocol):
    """The clock by which entries of a store expire: the highest time put into the store, or under each of its keys.

    A `CallerClock` keeps no time: its `time` is always `UNKNOWN`, and its `observe` returns `time_ms`.
    """

    @property
    def retention_ms(self) -> int: ...

    def time(self, key: bytes) -> int:
        """The highest time observed for a key, `UNKNOWN` before the first."""
        ...

    def observe(self, key: bytes, time_ms: int) -> int:
        """Advances the clock to the time of a put, if that is later; returns the time that the clock had before."""
        ...


class StoreClock:
    """One time for all keys, as in Kafka Streams.

    Example:
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> clock = StoreClock(contents, retention_ms=10)
        >>> clock.observe(b"a", 5), clock.observe(b"b", 3), StoreClock(contents, retention_ms=10).time(b"c")
        (-1, 5, 5)
    """

    def __init__(self, contents: ByteStore, retention_ms: int) -> None:
        self.retention_ms = retention_ms
        self._contents = contents
        # Cached only by a writer: for a reader, the stored time may change between two reads.
        self._cached_time: int | None = None

    def time(self, key: bytes) -> int:  # noqa: ARG002
        cached = self._cached_time
        return self._load() if cached is None else cached

    def observe(self, key: bytes, time_ms: int) -> int:  # noqa: ARG002
        before = self._cached_time
        if before is None:
            before = self._cached_time = self._load()
        if time_ms > before:
            self._contents.put(STORE_TIME, time_bytes(time_ms))
            self._cached_time = time_ms
        return before

    def _load(self) -> int:
        raw = self._contents.get(STORE_TIME)
        return UNKNOWN if raw is None else time_at(raw, 0)


class KeyClock:
    """A time for every key: a put under one key expires no entry of another.

    Example:
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> clock = KeyClock(MemoryStore(), retention_ms=10)
        >>> clock.observe(b"a", 5), clock.observe(b"b", 3), clock.time(b"a"), clock.time(b"b")
        (-1, -1, 5, 3)
    """

    def __init__(self, contents: ByteStore, retention_ms: int) -> None:
        self.retention_ms = retention_ms
        self._contents = contents

    def time(self, key: bytes) -> int:
        raw = self._contents.get(KEY_TIME + key)
        return UNKNOWN if raw is None else time_at(raw, 0)

    def observe(self, key: bytes, time_ms: int) -> int:
        before = self.time(key)
        if time_ms > before:
            self._contents.put(KEY_TIME + key, time_bytes(time_ms))
        return before


class CallerClock:
    """The clock of a store whose caller tracks the time of every key.

    The caller puts no expired entries, and removes entries when they expire. So the store saves no times, and expires
    nothing by itself.
    """

    def __init__(self, retention_ms: int) -> None:
        self.retention_ms = retention_ms

    def time(self, key: bytes) -> int:  # noqa: ARG002
        return UNKNOWN

    def observe(self, key: bytes, time_ms: int) -> int:  # noqa: ARG002
        return time_ms
