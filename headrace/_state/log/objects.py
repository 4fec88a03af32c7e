"""Objects: immutable files, each with all blobs that one Spark partition wrote in one micro-batch."""

from __future__ import annotations

import os
from collections.abc import Collection
from types import TracebackType
from typing import Self

from headrace._state.log.entries import ApplicationState, Location, ObjectUse
from headrace._state.log.files import Files, NewFile
from headrace.errors import StateError

OBJECTS = "state"
_DEAD_BYTES_AT_LEAST = 64 << 20
_SPARSE_BYTES_AT_LEAST = 8 << 20


class ObjectWriter:
    """Writes the blobs of one object. The first blob creates the file, `finish` completes it."""

    def __init__(self, files: Files, epoch: int, batch: int, writer: str) -> None:
        self.name = f"{epoch}-{batch}-{writer}-{os.urandom(6).hex()}"
        self._files = files
        self._file: NewFile | None = None
        self.size = 0

    def append(self, blob: bytes) -> Location:
        if self._file is None:
            try:
                self._file = self._files.create(f"{OBJECTS}/{self.name}")
            except FileNotFoundError as error:
                message = (
                    f"The state directory is missing ({error.filename}): the application was reset, or it was deleted."
                )
                raise StateError(message) from error
        location = Location(self.name, self.size, len(blob))
        self._file.write(blob)
        self.size += len(blob)
        return location

    def finish(self) -> dict[str, ObjectUse]:
        """Makes the object durable and returns its size; does nothing if it has no blob."""
        if self._file is None:
            return {}
        self._file.close()
        return {self.name: ObjectUse(self.size, self.size)}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None and error is not None:
            self._file.discard()


def read_blob(files: Files, location: Location, describe: str) -> bytes:
    """Reads a blob of an object.

    Raises:
        StateError: if the object is missing or cut short; the message starts with `describe`.
    """
    path = f"{OBJECTS}/{location.object}"
    try:
        blob = files.read(path, location.offset, location.length)
    except FileNotFoundError as error:
        message = f"{describe}: {path!r} is missing from the state directory. {_ADVICE}"
        raise MissingObjectError(message) from error
    if len(blob) < location.length:
        found = f"{len(blob)} of {location.length} bytes are left at byte {location.offset}"
        message = f"{describe}: {path!r} is cut short, {found}. {_ADVICE}"
        raise StateError(message)
    return blob


class MissingObjectError(StateError):
    """An object is missing: it was deleted after the log was read, or the state directory is damaged."""


def expired(state: ApplicationState, now_ms: int, retention_ms: int) -> tuple[str, ...]:
    """Returns the dead objects to delete: those dead for `retention_ms`, and the oldest ones beyond a limit.

    Dead objects may take as much space as the live ones, or 64 MiB if that is more.
    """
    budget = max(_DEAD_BYTES_AT_LEAST, sum(use.size for use in state.objects.values()))
    found = []
    newest_first = sorted(state.dead.items(), key=lambda item: -item[1].since_ms)
    for name, dead in newest_first:
        budget -= dead.size
        if budget < 0 or now_ms - dead.since_ms >= retention_ms or dead.since_ms > now_ms:
            found.append(name)
    return tuple(found)


def sparse(state: ApplicationState) -> frozenset[str]:
    """Returns objects that are mostly dead, if the state takes more than twice the space that it needs.

    A task that rarely changes keeps its old objects alive, though all other blobs in them are dead. The caller copies
    the live blobs, so that the objects can be deleted.
    """
    size = sum(use.size for use in state.objects.values())
    live = sum(use.live for use in state.objects.values())
    if size <= 2 * live + _SPARSE_BYTES_AT_LEAST:
        return frozenset()
    return frozenset(name for name, use in state.objects.items() if 2 * use.live < use.size)


def delete(files: Files, names: tuple[str, ...]) -> None:
    for name in names:
        files.delete(f"{OBJECTS}/{name}")


def sweep(files: Files, epoch: int, known: Collection[str]) -> None:
    """Deletes orphaned objects: those that starts of the application before `epoch` wrote, and that are not in `known`.

    `known` are the names of all objects that the log refers to. Attempts that failed or were killed leave orphans.
    """
    for name in files.list(OBJECTS):
        first = name.split("-", 1)[0]
        if name not in known and first.isdigit() and int(first) < epoch:
            files.delete(f"{OBJECTS}/{name}")


_ADVICE = "The state directory is damaged: restore it from a copy, or start over with `headrace reset`."
