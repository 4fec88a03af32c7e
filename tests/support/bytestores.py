"""Byte stores as a typed store meets them: in memory, and as a batch's changes over what was committed."""

from __future__ import annotations

from headrace._state.bytes.composite import ENTRY, time_at, unescaped
from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore

TRICKY_KEYS = [b"", b"\x00", b"\x00\x00", b"\x00\xff", b"\x01", b"a", b"a\x00", b"a\x00b", b"ab", b"b", b"\xff"]


class InMemory:
    def __init__(self):
        self.contents = MemoryStore()

    def commit(self):
        pass


class Batches:
    """Every commit ends a batch; the next one starts on what was committed."""

    def __init__(self, committed=None):
        self._committed = MemoryStore() if committed is None else committed
        self.contents = OverlayStore(self._committed)

    def commit(self):
        self._committed.put_many(self.contents.changes.items())
        self.contents = OverlayStore(self._committed)


class Watched(MemoryStore):
    """Counts what a call costs."""

    def __init__(self):
        super().__init__()
        self.forget()

    def forget(self):
        self.ranges, self.deletes = 0, 0

    def range(self, start, end):
        self.ranges += 1
        return super().range(start, end)

    def delete(self, key):
        self.deletes += 1
        super().delete(key)


def timed_entries_in(contents, *, segmented, rest_size=0):
    """Key and time of every entry that is physically there."""
    skipped = 9 if segmented else 1
    places = [place for place, _ in contents.prefix(ENTRY)]
    found = [(place[skipped : -8 - rest_size], time_at(place, -8 - rest_size)) for place in places]
    return sorted((unescaped(part), time_ms) for part, time_ms in found)
