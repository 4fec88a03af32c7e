"""Byte stores under a typed store: in memory, and as a batch's changes on top of committed entries."""

from __future__ import annotations

from headrace._state.bytes.composite import ENTRY, time_at, unescape_key
from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore

TRICKY_KEYS = [b"", b"\x00", b"\x00\x00", b"\x00\xff", b"\x01", b"a", b"a\x00", b"a\x00b", b"ab", b"b", b"\xff"]


class InMemory:
    def __init__(self):
        self.contents = MemoryStore()

    def commit(self):
        pass


class InBatches:
    """Every commit ends a batch; the next batch starts on the committed entries."""

    def __init__(self, committed=None):
        self._committed = MemoryStore() if committed is None else committed
        self.contents = OverlayStore(self._committed)

    def commit(self):
        self._committed.put_many(self.contents.changes.items())
        self.contents = OverlayStore(self._committed)


class CountingStore(MemoryStore):
    """Counts scans and deletes, to check the cost of calls."""

    def __init__(self):
        super().__init__()
        self.reset_counts()

    def reset_counts(self):
        self.ranges, self.deletes = 0, 0

    def range(self, start, end):
        self.ranges += 1
        return super().range(start, end)

    def delete(self, key):
        self.deletes += 1
        super().delete(key)


def timed_entries_in(contents, *, segmented, rest_size=0):
    """Key and time of every stored entry, expired ones included."""
    skipped = 9 if segmented else 1
    entry_keys = [entry_key for entry_key, _ in contents.prefix(ENTRY)]
    found = [(entry_key[skipped : -8 - rest_size], time_at(entry_key, -8 - rest_size)) for entry_key in entry_keys]
    return sorted((unescape_key(part), time_ms) for part, time_ms in found)
