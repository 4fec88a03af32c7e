"""The file operations that the state log needs, and their implementation on disk.

The log relies on one property of `publish`: only one process can create a name, and the file appears with its whole
content or not at all. With `sync`, the content is on disk before the name, and the name is on disk before the call
returns, so that a power loss undoes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from headrace._files import full_disk, sync_directory
from headrace.errors import StateError

TEMPORARY = ".new-"
_ATTEMPTS = 20


class NewFile(Protocol):
    """A file that is being written, under a unique name."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        """Completes the file and makes it durable."""

    def discard(self) -> None:
        """Deletes the file, which is incomplete; does nothing if the file is already closed."""


class Files(Protocol):
    """The files of a state directory. Paths are relative to it."""

    def create(self, path: str) -> NewFile:
        """Starts to write a new file in an existing directory.

        Raises:
            FileNotFoundError: if the directory does not exist.
        """

    def publish(self, path: str, data: bytes) -> bool:
        """Creates a file with its whole content in one step; returns false and does nothing if the name exists.

        If the parent directory was listed before, the file is created in the directory that was listed, even if that
        directory has been renamed since.
        """

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Returns the content of a file from `offset` on, or at most `length` bytes of it.

        Raises:
            FileNotFoundError: if there is no such file.
        """

    def list(self, directory: str) -> list[str]:
        """Returns the names in a directory, unordered; none if the directory does not exist."""

    def delete(self, path: str) -> None:
        """Deletes a file, if it exists."""

    def make_directory(self, directory: str) -> None:
        """Creates a directory, if it is missing, and makes it durable."""

    def settle(self, directory: str) -> None:
        """Syncs a directory, to make files durable whose writers were killed before they synced it."""


class DiskFiles:
    """Files below a directory of a local or shared file system that has hard links.

    A directory stays open after it was listed, and `publish` creates files in the open directory. If a reset has moved
    this directory away and created a new one, a process that has not noticed the reset cannot write to the new one.
    """

    def __init__(self, root: str | Path, *, sync: bool = True) -> None:
        self.root = Path(root)
        self._sync = sync
        self._open_directories: dict[str, _Directory] = {}

    def create(self, path: str) -> NewFile:
        target = self.root / path
        with explain_errors("write", target):
            return _DiskFile(target, self._sync)

    def publish(self, path: str, data: bytes) -> bool:
        parent, _, name = path.rpartition("/")
        with explain_errors("write", self.root / path, len(data)):
            directory = self._open_directories.get(parent) or _Directory(self.root / parent)
            for _ in range(_ATTEMPTS):
                try:
                    return self._publish(directory, name, data)
                except FileNotFoundError:
                    # Another start may have deleted the temporary file, assuming that its writer was killed.
                    if directory.is_deleted:
                        raise
        message = f"Cannot write {str(self.root / path)!r}: another process deletes its temporary file each time."
        raise StateError(message)

    def _publish(self, directory: _Directory, name: str, data: bytes) -> bool:
        temporary = f"{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
        try:
            directory.create(temporary, data, sync=self._sync)
            if not directory.link(temporary, name):
                return False
            if self._sync:
                directory.sync()
            return True
        finally:
            directory.unlink(temporary)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        target = self.root / path
        with explain_errors("read", target), target.open("rb") as file:
            if offset:
                file.seek(offset)
            return file.read() if length is None else file.read(length)

    def list(self, directory: str) -> list[str]:
        self._open_directories.pop(directory, None)
        try:
            self._open_directories[directory] = opened = _Directory(self.root / directory)
        except FileNotFoundError:
            return []
        except PermissionError as error:
            raise _explained("read", self.root / directory, error) from error
        return opened.names()

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError), explain_errors("delete", self.root / path):
            (self.root / path).unlink()

    def make_directory(self, directory: str) -> None:
        target = self.root / directory
        with explain_errors("create", target):
            created = [target]
            while not created[-1].parent.is_dir():
                created.append(created[-1].parent)
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.mkdir(parents=True, exist_ok=True)
            for path in reversed(created):
                self._sync_directory(path.parent)

    def settle(self, directory: str) -> None:
        with suppress(FileNotFoundError):
            self._sync_directory(self.root / directory)

    def _sync_directory(self, directory: Path) -> None:
        if self._sync:
            sync_directory(directory)


class _DiskFile:
    def __init__(self, path: Path, sync: bool) -> None:
        self._path = path
        self._sync = sync
        self._file: BinaryIO = path.open("xb")

    def write(self, data: bytes) -> None:
        with explain_errors("write", self._path, len(data)):
            self._file.write(data)

    def close(self) -> None:
        with explain_errors("write", self._path):
            self._file.flush()
            if self._sync:
                os.fsync(self._file.fileno())
            self._file.close()
            if self._sync:
                sync_directory(self._path.parent)

    def discard(self) -> None:
        if not self._file.closed:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._path.unlink()


class _Directory:
    """An open directory. It stays the same directory when it is renamed, or deleted and replaced by another one."""

    def __init__(self, path: Path) -> None:
        self._descriptor = -1
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    @property
    def is_deleted(self) -> bool:
        return not os.fstat(self._descriptor).st_nlink

    def names(self) -> list[str]:
        return os.listdir(self._descriptor)  # noqa: PTH208  names, at once

    def create(self, name: str, data: bytes, *, sync: bool) -> None:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=self._descriptor)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, name: str, new: str) -> bool:
        """Gives a file a second name, `new`; returns false if that name exists already."""
        try:
            os.link(name, new, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except FileExistsError:
            return False
        return True

    def unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def sync(self) -> None:
        os.fsync(self._descriptor)


@contextmanager
def explain_errors(doing: str, path: Path, needed: int | None = None) -> Iterator[None]:
    """Raises a `StateError` that names the file instead of an error of the file system.

    `FileNotFoundError` and `FileExistsError` are raised unchanged, because callers handle them. `doing` is the verb of
    the message, e.g. "write". `needed` is the number of bytes to write, for the message about a full disk.
    """
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        raise _explained(doing, path, error, needed) from error


def _explained(doing: str, path: Path, error: OSError, needed: int | None = None) -> StateError:
    full = full_disk(error, path, needed)
    cause = full or f"{error.strerror or error}. Check the permissions of the state directory"
    message = (
        f"Cannot {doing} {str(path)!r}: {cause}; the application continues after its last committed batch when "
        "started again."
    )
    return StateError(message)
