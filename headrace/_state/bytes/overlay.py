"""The changes of one batch on top of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from headrace._state.bytes.api import ByteReader, next_key, prefix_end
from headrace._state.bytes.sortedkeys import SortedKeys


class OverlayStore:
    """A `ByteStore` that collects the last write of each key in `changes`, and reads all other keys from `base`.

    In `changes`, a value of `None` is a delete. `base` is never written: the changes become durable when the batch is
    committed.
    """

    def __init__(self, base: ByteReader) -> None:
        self.changes: dict[bytes, bytes | None] = {}
        self._base = base
        self._read = base.get
        self._keys = SortedKeys()

    def get(self, key: bytes) -> bytes | None:
        changes = self.changes
        return changes[key] if key in changes else self._read(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        changes = self.changes
        if not changes:
            return self._base.get_many(keys)
        unchanged = [key for key in keys if key not in changes]
        if not unchanged:
            return [changes[key] for key in keys]
        stored = iter(self._base.get_many(unchanged))
        return [changes[key] if key in changes else next(stored) for key in keys]

    def put(self, key: bytes, value: bytes) -> None:
        self.changes[key] = value

    def delete(self, key: bytes) -> None:
        self.changes[key] = None

    def put_many(self, items: Iterable[tuple[bytes, bytes | None]]) -> None:
        self.changes.update(items)

    def range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        changes = self.changes
        stored = self._base.range(start, end)
        entry = next(stored, None)
        low, seen, changed = start or b"", -1, None
        while True:
            if seen != len(changes) or (changed is not None and changed < low):
                seen, changed = len(changes), self._next_change(low, end)
            if entry is not None and (changed is None or entry[0] < changed):
                low = next_key(entry[0])
                yield entry
                entry = next(stored, None)
                continue
            if changed is None:
                return
            if entry is not None and entry[0] == changed:
                entry = next(stored, None)
            low = next_key(changed)
            value = changes[changed]
            if value is not None:
                yield changed, value

    def reverse_range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        changes = self.changes
        stored = self._base.reverse_range(start, end)
        entry = next(stored, None)
        low, high, seen, changed = start or b"", end, -1, None
        while True:
            if seen != len(changes) or (changed is not None and high is not None and changed >= high):
                seen, changed = len(changes), self._last_change(low, high)
            if entry is not None and (changed is None or entry[0] > changed):
                high = entry[0]
                yield entry
                entry = next(stored, None)
                continue
            if changed is None:
                return
            if entry is not None and entry[0] == changed:
                entry = next(stored, None)
            high = changed
            value = changes[changed]
            if value is not None:
                yield changed, value

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self.range(prefix, prefix_end(prefix))

    def approximate_len(self) -> int:
        stored = self._base.get_many(list(self.changes))
        before = sum(value is not None for value in stored)
        now = sum(value is not None for value in self.changes.values())
        return self._base.approximate_len() - before + now

    def discard_changes(self) -> None:
        """Drops all changes, after they were copied to the base or because the batch failed."""
        self.changes.clear()
        self._keys = SortedKeys()

    def _next_change(self, low: bytes, end: bytes | None) -> bytes | None:
        self._sort_changes()
        key = self._keys.at_or_after(low)
        return None if key is None or (end is not None and key >= end) else key

    def _last_change(self, low: bytes, high: bytes | None) -> bytes | None:
        self._sort_changes()
        key = self._keys.before(high)
        return None if key is None or key < low else key

    def _sort_changes(self) -> None:
        # `changes` only ever gains keys, and a dict keeps insertion order: the keys not yet sorted are its last ones.
        fresh = len(self.changes) - self._keys.size
        if fresh:
            self._keys.add(list(islice(reversed(self.changes), fresh)))
