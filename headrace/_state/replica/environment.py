"""One LMDB environment, used as a cache: quick to open, wiped when damaged.

Nothing is synced. After a process was killed, the files are intact, because the kernel has all written pages. After a
crash of the machine they may be damaged, but are not used: their path contains the boot id, which has changed. An open
environment stays valid if its files are deleted; they disappear when it is closed.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import lmdb

T = TypeVar("T")

ReplicaDamage = lmdb.Error

# Address space, not memory or disk: the file grows with its content.
MAP_SIZE = 64 << 30 if sys.maxsize > 1 << 32 else 512 << 20
_MAX_STORES = 512
_MAX_READERS = 4096
_LOCK_BYTES = 8192  # LMDB's own data in the lock file, and its first readers


class Environment:
    """One open LMDB environment and the databases opened in it."""

    def __init__(self, path: Path, map_size: int) -> None:
        self.path = path
        self.users = 1
        self.databases: dict[str, Any] = {}
        self._process = os.getpid()
        self._files_when_idle: list[tuple[int, ...]] | None = None
        self._open(map_size)

    def begin(self, *, write: bool = False) -> Any:
        try:
            return self._lmdb.begin(write=write)
        except lmdb.MapResizedError:
            self._lmdb.set_mapsize(0)
            return self._lmdb.begin(write=write)

    def write(self, stores: Iterable[str], action: Callable[[Any], T]) -> T:
        """Runs `action` in one write transaction, with the databases of `stores` open, and returns its result.

        If the map is full, it is enlarged and `action` runs again in a new transaction. That ends all snapshots that
        this process has open: their next read raises an `lmdb.Error`, and their batch fails and is repeated.
        """
        wanted = list(stores)
        while True:
            try:
                self.open_databases(wanted)
                with self.begin(write=True) as txn:
                    result = action(txn)
            except lmdb.MapFullError:
                self._lmdb.set_mapsize(2 * self._lmdb.info()["map_size"])
            else:
                self._extend_file()
                return result

    def open_databases(self, stores: Iterable[str]) -> None:
        """Opens the databases of some stores, and creates those that are missing."""
        missing = [store for store in stores if store not in self.databases]
        if missing:
            with self.begin(write=True) as txn:
                found = {store: self._lmdb.open_db(store.encode(), txn=txn) for store in missing}
            self.databases.update(found)

    def close(self) -> None:
        # After a fork the handle belongs to the parent: LMDB forbids any use of it.
        if self.is_usable:
            self._close()

    @property
    def is_usable(self) -> bool:
        return self._process == os.getpid()

    @property
    def size(self) -> int:
        """The size of the data file in bytes."""
        return os.fstat(self._data).st_size

    def set_idle(self) -> None:
        """Records the state of the files when the last user is gone, for `is_as_left`."""
        self._files_when_idle = self._files()

    def is_as_left(self) -> bool:
        """Whether the files are still at the path, and unchanged since `set_idle`."""
        return self._files_when_idle is not None and self._files() == self._files_when_idle

    def resume(self) -> bool:
        """Prepares an idle environment for use; returns false if it must be closed, and its path opened again."""
        try:
            self._free_dead_readers()
        except lmdb.Error:
            return False
        return self.is_as_left()

    def _files(self) -> list[tuple[int, ...]] | None:
        try:
            data, lock = (self.path / "data.mdb").stat(), (self.path / "lock.mdb").stat()
        except OSError:
            return None
        # LMDB writes the lock file through a memory map, which may not change its modification time.
        return [(data.st_dev, data.st_ino, data.st_size, data.st_mtime_ns), (lock.st_dev, lock.st_ino)]

    def _open(self, map_size: int) -> None:
        self._lmdb = _open_lmdb(self.path, map_size)
        try:
            # A separate descriptor: another process may replace the file at this path before its size is checked.
            self._data = os.open(self.path / "data.mdb", os.O_RDWR)
        except OSError:
            self._lmdb.close()
            raise
        self._free_dead_readers()
        if self._missing_bytes():
            # Reading a page that is not in the file would kill the process (SIGBUS).
            self._close()
            message = f"{self.path} is cut short"
            raise lmdb.CorruptedError(message)

    def _close(self) -> None:
        self._lmdb.close()
        os.close(self._data)
        self.databases.clear()

    def _free_dead_readers(self) -> None:
        # The slot of a reader whose process died would keep old pages from being reused.
        self._lmdb.reader_check()

    def _extend_file(self) -> None:
        # LMDB does not write trailing pages that a transaction allocated and freed. The file is extended over them, so
        # that a file that is too short is always a damaged one. No other process must write meanwhile: its new pages
        # would be cut off.
        if self._missing_bytes():
            with self.begin(write=True):
                os.truncate(self._data, max(self.size, self._needed_bytes()))

    def _missing_bytes(self) -> bool:
        return self.size < self._needed_bytes()

    def _needed_bytes(self) -> int:
        pages: int = self._lmdb.info()["last_pgno"] + 1
        size: int = self._lmdb.stat()["psize"]
        return pages * size


def _open_lmdb(path: Path, map_size: int) -> Any:
    _reserve_lock_file(path)
    while True:
        try:
            return lmdb.open(
                str(path),
                map_size=map_size,
                max_dbs=_MAX_STORES,
                max_readers=_MAX_READERS,
                sync=False,
                metasync=False,
                meminit=False,
                readahead=False,
            )
        except lmdb.MemoryError:
            # The process may not have that much address space.
            if map_size <= 1 << 30:
                raise
            map_size //= 4


def _reserve_lock_file(path: Path) -> None:
    """Raises an `OSError` if the disk is full: LMDB maps this file, and would kill the process instead (SIGBUS)."""
    try:
        path.mkdir(mode=0o755, exist_ok=True)
        with (path / "lock.mdb").open("ab") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, _LOCK_BYTES)
    except OSError as error:
        # LMDB itself reports all other errors.
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise


@cache
def boot_id() -> str:
    """A random id that Linux chooses at each boot; empty on other systems.

    The directory of a replica has it in its name, so that a replica from before a reboot is not used.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
