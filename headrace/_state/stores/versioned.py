"""The versioned store: values by key, with all versions that were valid within the history retention.

The latest version of a key has an entry of its own, so most reads and writes need no search. Superseded versions of a
key lie together, newest first: the version valid at a time is the first one whose timestamp is not later. An index by
the time at which each version was superseded finds the expired ones. A version expires after all older ones of its key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from headrace._state.bytes.api import ByteStore, prefix_end
from headrace._state.bytes.composite import (
    EXPIRY,
    HISTORY,
    LATEST,
    MAX_TIME,
    TIME_SIZE,
    descending_time_at,
    descending_time_bytes,
    end_of_key,
    escape_key,
    time_at,
    time_bytes,
    unescape_key,
)
from headrace._state.layouts.entries_in_segments import segment_ms
from headrace._state.layouts.gradual_removal import GradualRemoval
from headrace._state.layouts.retention_clocks import StoreClock
from headrace._state.layouts.typed import TypedStore
from headrace.model.stores.interfaces import VersionedRecord
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")

NEWEST = -1
NOT_PUT = -(1 << 63)

# What is stored of a version besides its timestamp: this byte and its value, or nothing for a deletion.
_VALUE = b"\x01"
_DELETION = b""

_SUPERSEDED = b""
_LATEST_DELETION = b"\x01"


class TypedVersionedStore(TypedStore[K], Generic[K, V]):
    """Values by key and time of validity.

    A version is valid from its timestamp until that of the next one of its key. The store's time is the highest
    timestamp put; versions older than that time minus the history are neither accepted nor returned, except the latest
    of a key, which never expires. A put of `None` is a version too: a deletion.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedVersionedStore(MemoryStore(), 100, serdes.String(), serdes.String(), name="cities")
        >>> store.put("alice", "Bern", 10), store.put("alice", "Basel", 30), store.put("alice", "Biel", 20)
        (-1, -1, 30)
        >>> store.get_as_of("alice", 29)
        VersionedRecord(value='Biel', timestamp_ms=20, valid_to_ms=30)
        >>> store.delete("alice", 40)
        VersionedRecord(value='Basel', timestamp_ms=30)
        >>> [(version.value, version.valid_to_ms) for version in store.versions("alice", 25)]
        [('Biel', 30), ('Basel', 40)]
        >>> store.get("alice"), store.put("alice", "Bern", 1_000), store.put("alice", "Biel", 899) == NOT_PUT
        (None, -1, True)
    """

    def __init__(
        self, contents: ByteStore, history_ms: int, key_serde: Serde[K], value_serde: Serde[V], *, name: str = ""
    ) -> None:
        super().__init__(contents, key_serde, value_serde, name=name)
        self._history_ms = history_ms
        self._clock = StoreClock(contents, history_ms)
        self._removal = GradualRemoval(contents, EXPIRY)
        self._next_expiry_ms = 0

    def put(self, key: K, value: V | None, timestamp_ms: int) -> int:
        """Stores a version, and replaces one with the same timestamp; `None` is a deletion from that time on.

        Returns:
            The time until which the version is valid: the timestamp of the next newer version of the key, `NEWEST` if
            there is none; or `NOT_PUT` if the version is older than the history and was not stored.
        """
        return self.write(self.key_bytes(key), value, timestamp_ms)

    def write(self, key_bytes: bytes, value: V | None, timestamp_ms: int) -> int:
        """`put` for an operator that has already serialized the key."""
        raw = self.value_serde.serialize(value)
        before = self._clock.observe(key_bytes, timestamp_ms)
        if timestamp_ms < self._history_begins_ms(before):
            return NOT_PUT
        if timestamp_ms > before and timestamp_ms >= self._next_expiry_ms:
            self._extend_sweep(timestamp_ms)
        if self._removal.pending:
            self._expire()
        version = _DELETION if raw is None else _VALUE + raw
        latest = self.contents.get(LATEST + key_bytes)
        if latest is not None and timestamp_ms < time_at(latest, 0):
            return self._put_superseded(key_bytes, version, timestamp_ms, time_at(latest, 0))
        self._put_latest(key_bytes, version, timestamp_ms, latest)
        return NEWEST

    def get(self, key: K) -> VersionedRecord[V] | None:
        """The latest version, or `None` if there is none or it is a deletion."""
        return self.read(self.key_bytes(key))

    def read(self, key_bytes: bytes) -> VersionedRecord[V] | None:
        """`get` for an operator that has already serialized the key."""
        latest = self.contents.get(LATEST + key_bytes)
        return None if latest is None else self._decode_version(latest, TIME_SIZE, time_at(latest, 0))

    def get_as_of(self, key: K, as_of_ms: int) -> VersionedRecord[V] | None:
        """The version valid at a time; `None` if there was none, it is a deletion, or the time is too long ago."""
        record = self.row_as_of(key, as_of_ms)
        if record is None:
            return None
        key_bytes = self.key_bytes(key)
        latest = self.contents.get(LATEST + key_bytes)
        assert latest is not None
        if time_at(latest, 0) <= as_of_ms:
            return record
        valid_to_ms = self._next_newer_ms(escape_key(key_bytes), as_of_ms, time_at(latest, 0))
        return VersionedRecord(*record, valid_to_ms)

    def row_as_of(self, key: K, as_of_ms: int) -> VersionedRecord[V] | None:
        """`get_as_of` for an operator that does not need to know until when the version was valid."""
        key_bytes = self.key_bytes(key)
        latest = self.contents.get(LATEST + key_bytes)
        if latest is None:
            return None
        if time_at(latest, 0) <= as_of_ms:
            return self._decode_version(latest, TIME_SIZE, time_at(latest, 0))
        if as_of_ms < max(self._history_begins_ms(self._clock.time(key_bytes)), 0):
            return None
        prefix = HISTORY + escape_key(key_bytes)
        for entry_key, version in self.contents.range(prefix + descending_time_bytes(as_of_ms), end_of_key(prefix)):
            return self._decode_version(version, 0, descending_time_at(entry_key, -TIME_SIZE))
        return None

    def versions(
        self, key: K, from_ms: int | None = None, to_ms: int | None = None, *, descending: bool = False
    ) -> Iterator[VersionedRecord[V]]:
        """The versions of a key that were valid at some time between two, both inclusive, without deletions.

        `None` is an open end. The oldest version comes first; with `descending`, the newest. They are the versions in
        the store at the time of the call. For times before the history, only the latest version is known.
        """
        key_bytes = self.key_bytes(key)
        latest = self.contents.get(LATEST + key_bytes)
        last_ms = MAX_TIME if to_ms is None else min(to_ms, MAX_TIME)
        if latest is None or last_ms < 0:
            return iter(())
        latest_ms = time_at(latest, 0)
        newest = self._decode_version(latest, TIME_SIZE, latest_ms) if latest_ms <= last_ms else None
        found = [] if newest is None else [newest]
        first_ms = max(from_ms or 0, self._history_begins_ms(self._clock.time(key_bytes)), 0)
        if first_ms <= last_ms:
            found += self._superseded_versions(escape_key(key_bytes), first_ms, last_ms, latest_ms)
        return iter(found) if descending else reversed(found)

    def _superseded_versions(
        self, key_part: bytes, first_ms: int, last_ms: int, latest_ms: int
    ) -> Iterator[VersionedRecord[V]]:
        """Versions other than the latest that were valid at some time from `first_ms` to `last_ms`, both inclusive.

        The newest comes first; deletions are left out. `latest_ms` is the timestamp of the latest version.
        """
        prefix = HISTORY + key_part
        valid_to_ms = latest_ms if latest_ms <= last_ms else self._next_newer_ms(key_part, last_ms, latest_ms)
        for entry_key, version in self.contents.range(prefix + descending_time_bytes(last_ms), end_of_key(prefix)):
            if valid_to_ms <= first_ms:
                return
            timestamp_ms = descending_time_at(entry_key, -TIME_SIZE)
            record = self._decode_version(version, 0, timestamp_ms, valid_to_ms)
            if record is not None:
                yield record
            valid_to_ms = timestamp_ms

    def delete(self, key: K, timestamp_ms: int) -> VersionedRecord[V] | None:
        """Puts a deletion; returns the version that was valid at that time.

        Returns `None` if there was none, or if the deletion is older than the history and was not stored.
        """
        valid = self.get_as_of(key, timestamp_ms)
        return None if self.put(key, None, timestamp_ms) == NOT_PUT else valid

    def all(self) -> Iterator[tuple[K, VersionedRecord[V]]]:
        """The latest version of every key, in the order of the serialized keys, without deletions."""
        for entry_key, latest in self.contents.prefix(LATEST):
            record = self._decode_version(latest, TIME_SIZE, time_at(latest, 0))
            if record is not None:
                yield self._read_key(entry_key[len(LATEST) :]), record

    def reverse_all(self) -> Iterator[tuple[K, VersionedRecord[V]]]:
        """The entries of `all`, from the last to the first."""
        for entry_key, latest in self.contents.reverse_range(LATEST, prefix_end(LATEST)):
            record = self._decode_version(latest, TIME_SIZE, time_at(latest, 0))
            if record is not None:
                yield self._read_key(entry_key[len(LATEST) :]), record

    def _decode_version(
        self, stored: bytes, offset: int, timestamp_ms: int, valid_to_ms: int | None = None
    ) -> VersionedRecord[V] | None:
        if len(stored) == offset:
            return None
        return VersionedRecord(self._read_value(stored[offset + len(_VALUE) :]), timestamp_ms, valid_to_ms)

    def _next_newer_ms(self, key_part: bytes, time_ms: int, latest_ms: int) -> int:
        """The timestamp of the first version after `time_ms`, a time before `latest_ms`, that of the latest version."""
        prefix = HISTORY + key_part
        newer = next(self.contents.reverse_range(prefix, prefix + descending_time_bytes(time_ms)), None)
        return latest_ms if newer is None else descending_time_at(newer[0], -TIME_SIZE)

    def _put_latest(self, key: bytes, version: bytes, timestamp_ms: int, before: bytes | None) -> None:
        self.contents.put(LATEST + key, time_bytes(timestamp_ms) + version)
        if before is not None and time_at(before, 0) < timestamp_ms:
            self._add_superseded(escape_key(key), before[TIME_SIZE:], time_at(before, 0), timestamp_ms)
        if version == _DELETION:
            self.contents.put(_expiry(timestamp_ms, escape_key(key), timestamp_ms), _LATEST_DELETION)

    def _put_superseded(self, key: bytes, version: bytes, timestamp_ms: int, latest_ms: int) -> int:
        valid_to_ms = self._next_newer_ms(escape_key(key), timestamp_ms, latest_ms)
        self._add_superseded(escape_key(key), version, timestamp_ms, valid_to_ms)
        return valid_to_ms

    def _add_superseded(self, key_part: bytes, version: bytes, timestamp_ms: int, valid_to_ms: int) -> None:
        self.contents.put(HISTORY + key_part + descending_time_bytes(timestamp_ms), version)
        self.contents.put(_expiry(valid_to_ms, key_part, timestamp_ms), _SUPERSEDED)

    def _history_begins_ms(self, clock_ms: int) -> int:
        """The earliest time for which versions are still known and accepted, when the clock is at `clock_ms`."""
        return clock_ms - self._history_ms

    def _extend_sweep(self, time_ms: int) -> None:
        self._removal.extend(EXPIRY + time_bytes(max(self._history_begins_ms(time_ms), 0) + 1))
        self._next_expiry_ms = time_ms + segment_ms(self._history_ms)

    def _expire(self) -> None:
        for entry_key, kind in self._removal.step():
            key_part, timestamp = entry_key[len(EXPIRY) + TIME_SIZE : -TIME_SIZE], entry_key[-TIME_SIZE:]
            if kind == _SUPERSEDED:
                self.contents.delete(HISTORY + key_part + descending_time_bytes(time_at(timestamp, 0)))
                continue
            latest = LATEST + unescape_key(key_part)
            if self.contents.get(latest) == timestamp + _DELETION:
                self.contents.delete(latest)


def _expiry(from_ms: int, key_part: bytes, timestamp_ms: int) -> bytes:
    return EXPIRY + time_bytes(from_ms) + key_part + time_bytes(timestamp_ms)
