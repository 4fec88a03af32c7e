"""The durable state of one task, stored in objects: its head has the locations of its deltas and slices."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from headrace._state.bytes.envelope import seal, unseal
from headrace._state.log.entries import Location, ObjectUse
from headrace._state.log.files import Files
from headrace._state.log.objects import ObjectWriter, read_blob
from headrace.errors import StateError

_COPIED_BYTES = 1 << 20


class TaskIndex(msgspec.Struct, array_like=True):
    """The encoded head of a task, and the locations of its deltas (by version) and slices (by id) in the objects."""

    head: bytes
    deltas: dict[int, Location] = {}
    slices: dict[int, Location] = {}


class WrittenState(msgspec.Struct, omit_defaults=True):
    """What one writer changed: the new location of the head of each task, the object that it wrote, and its size.

    `freed` is the number of bytes in each older object that are no longer needed.
    """

    heads: dict[str, Location] = {}
    objects: dict[str, ObjectUse] = {}
    freed: dict[str, int] = {}

    def add(self, other: WrittenState) -> None:
        """Adds the changes of another writer."""
        self.heads.update(other.heads)
        self.objects.update(other.objects)
        for name, length in other.freed.items():
            self.freed[name] = self.freed.get(name, 0) + length


class LoggedTask:
    """A `DurableTask` stored in objects of the state directory; its writes take effect when a commit names its head.

    Without a `writer` it can only be read. `head` is the location of the last head, `None` for a new task. `sparse`
    names objects of which little is still needed: `put_head` copies the task's deltas and slices from there to its own
    object, so that the sparse objects can be deleted after the commit.
    """

    def __init__(
        self,
        files: Files,
        writer: ObjectWriter | None,
        task: str,
        head: Location | None,
        describe: str,
        *,
        sparse: Collection[str] = (),
    ) -> None:
        self._files = files
        self._writer = writer
        self._task = task
        self._head = head
        self._describe = describe
        self._sparse = sparse
        self._index = TaskIndex(b"") if head is None else self._read_index(head)
        self.written = WrittenState()

    def get_head(self) -> bytes | None:
        return self._index.head or None

    def put_head(self, blob: bytes) -> None:
        """Writes the head and the locations of all blobs, so call it last. First copies blobs from sparse objects."""
        assert self._writer is not None
        self._copy_from_sparse_objects(self._writer)
        self._index.head = blob
        if self._head is not None:
            self._free(self._head)
        self._head = self._writer.append(seal(msgspec.msgpack.encode(self._index)))
        self.written.heads[self._task] = self._head

    def has_blobs_in(self, objects: Collection[str]) -> bool:
        """Whether one of these objects holds any blob of the task."""
        blobs = [*self._index.deltas.values(), *self._index.slices.values()]
        return any(location.object in objects for location in blobs) or (
            self._head is not None and self._head.object in objects
        )

    def get_delta(self, version: int) -> bytes:
        return self._get(self._index.deltas, version, "delta of version")

    def put_delta(self, version: int, blob: bytes) -> None:
        assert self._writer is not None
        self._index.deltas[version] = self._writer.append(blob)

    def remove_delta(self, version: int) -> None:
        self._free(self._index.deltas.pop(version))

    def get_slice(self, slice_id: int) -> bytes:
        return self._get(self._index.slices, slice_id, "slice")

    def put_slice(self, slice_id: int, blob: bytes) -> None:
        assert self._writer is not None
        self._index.slices[slice_id] = self._writer.append(blob)

    def remove_slice(self, slice_id: int) -> None:
        self._free(self._index.slices.pop(slice_id))

    def _copy_from_sparse_objects(self, writer: ObjectWriter) -> None:
        limit = writer.size + _COPIED_BYTES
        for locations in (self._index.deltas, self._index.slices):
            for number, location in locations.items():
                if location.object in self._sparse and writer.size < limit:
                    locations[number] = writer.append(self._get(locations, number, "blob"))
                    self._free(location)

    def _read_index(self, head: Location) -> TaskIndex:
        describe = f"{self._describe}, head in {head.object!r}"
        payload = unseal(read_blob(self._files, head, describe), describe)
        try:
            return msgspec.msgpack.decode(payload, type=TaskIndex)
        except msgspec.MsgspecError as error:
            message = f"{describe}: the stored blob has the right checksum, but is not a head: {error}"
            raise StateError(message) from error

    def _get(self, locations: dict[int, Location], number: int, what: str) -> bytes:
        if number not in locations:
            message = f"{self._describe}: {what} {number} is missing, though the head names it; the state is damaged."
            raise StateError(message)
        location = locations[number]
        describe = f"{self._describe}, {what} {number} in {location.object!r}"
        blob = read_blob(self._files, location, describe)
        unseal(blob, describe)
        return blob

    def _free(self, location: Location) -> None:
        self.written.freed[location.object] = self.written.freed.get(location.object, 0) + location.length
