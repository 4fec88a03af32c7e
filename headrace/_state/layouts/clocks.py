"""The clocks by which stores forget: the highest time put into a store, or put under each of its keys.

An entry is there for as long as its time is greater than that of the clock less the retention. Clocks are kept in the
store they belong to, so they are as durable as its entries.
"""

from __future__ import annotations

from typing import Protocol

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import KEY_TIME, STORE_TIME, time_at, time_bytes

UNKNOWN = -1


class RetentionClock(Protocol):
    """What tells a store how far its time has come."""

    @property
    def retention_ms(self) -> int: ...

    def time(self, key: bytes) -> int:
        """The highest time that counts for a key, `UNKNOWN` before the first."""
        ...

    def observe(self, key: bytes, time_ms: int) -> int:
        """Moves on to a time that is put under a key, if it is the highest; returns the time until then."""
        ...


class StoreClock:
    """One time for all keys, as Kafka Streams has it.

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
        # Only who writes may hold on to the time: to a reader it can change at any moment.
        self._held: int | None = None

    def time(self, key: bytes) -> int:  # noqa: ARG002
        held = self._held
        return self._stored() if held is None else held

    def observe(self, key: bytes, time_ms: int) -> int:  # noqa: ARG002
        before = self._held
        if before is None:
            before = self._held = self._stored()
        if time_ms > before:
            self._contents.put(STORE_TIME, time_bytes(time_ms))
            self._held = time_ms
        return before

    def _stored(self) -> int:
        raw = self._contents.get(STORE_TIME)
        return UNKNOWN if raw is None else time_at(raw, 0)


class KeyClock:
    """A time for every key: what comes in for one key makes no entry of another expire.

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


class ToldClock:
    """A time for every key, kept by the store's owner: who puts nothing that is expired, and tells what to forget.

    So the store keeps no times of its own, and forgets nothing by itself.
    """

    def __init__(self, retention_ms: int) -> None:
        self.retention_ms = retention_ms

    def time(self, key: bytes) -> int:  # noqa: ARG002
        return UNKNOWN

    def observe(self, key: bytes, time_ms: int) -> int:  # noqa: ARG002
        return time_ms
