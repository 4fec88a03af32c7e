"""The interface of a task's durable state: a head, deltas by version and slices by number, all opaque blobs."""

from __future__ import annotations

from typing import Protocol


class DurableTask(Protocol):
    """The durable state of one task. All calls of one batch take effect together when it commits, or not at all.

    Callers only request blobs that were put and not removed. A removed or replaced blob may be deleted at once.
    """

    def get_head(self) -> bytes | None: ...

    def put_head(self, blob: bytes) -> None: ...

    def get_delta(self, version: int) -> bytes: ...

    def put_delta(self, version: int, blob: bytes) -> None: ...

    def remove_delta(self, version: int) -> None: ...

    def get_slice(self, slice_id: int) -> bytes: ...

    def put_slice(self, slice_id: int, blob: bytes) -> None: ...

    def remove_slice(self, slice_id: int) -> None: ...


class MemoryDurable:
    """A `DurableTask` in memory, with the commit and rollback that a batch needs; for tests."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.deltas: dict[int, bytes] = {}
        self.slices: dict[int, bytes] = {}
        self.commit()

    def commit(self) -> None:
        """Makes all changes since the last commit permanent."""
        self._committed = (self.head, dict(self.deltas), dict(self.slices))

    def rollback(self) -> None:
        """Discards uncommitted changes."""
        self.head, deltas, slices = self._committed
        self.deltas, self.slices = dict(deltas), dict(slices)

    def get_head(self) -> bytes | None:
        return self.head

    def put_head(self, blob: bytes) -> None:
        self.head = blob

    def get_delta(self, version: int) -> bytes:
        return self.deltas[version]

    def put_delta(self, version: int, blob: bytes) -> None:
        self.deltas[version] = blob

    def remove_delta(self, version: int) -> None:
        del self.deltas[version]

    def get_slice(self, slice_id: int) -> bytes:
        return self.slices[slice_id]

    def put_slice(self, slice_id: int, blob: bytes) -> None:
        self.slices[slice_id] = blob

    def remove_slice(self, slice_id: int) -> None:
        del self.slices[slice_id]
