"""LMDB environments used as a cache: quick to open, shared within a process, wiped when damaged.

Nothing is synced. A killed process leaves an environment whole, because the kernel has its pages; after a crash of the
machine the boot id differs, which is part of the path, so the old files are not used. LMDB refuses to open an
environment twice in a process, so this module counts its users. A handle stays valid when its files are deleted; the
files disappear when it is closed.

An environment may stay open without users: its pages stay mapped, so the next batch of a large store reads and writes
it in about half the time. It is used again only if no one else has changed its file meanwhile.
"""

from __future__ import annotations

import errno
import os
import shutil
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
_ATTEMPTS = 3
_LOCK_BYTES = 8192  # LMDB's own data in the lock file, and its first readers
_MAX_IDLE = 64  # each has four open files

_open_environments: dict[str, Environment] = {}


class Environment:
    """One open LMDB environment and the databases opened in it."""

    def __init__(self, path: Path, map_size: int) -> None:
        self.path = path
        self.users = 1
        self.databases: dict[str, Any] = {}
        self._process = os.getpid()
        self._idle_since: tuple[int, ...] = ()
        self._open(map_size)

    def begin(self, *, write: bool = False) -> Any:
        try:
            return self._lmdb.begin(write=write)
        except lmdb.MapResizedError:
            self._lmdb.set_mapsize(0)
            return self._lmdb.begin(write=write)

    def write(self, stores: Iterable[str], action: Callable[[Any], T]) -> T:
        """Runs `action` in one write transaction in which the databases of `stores` are open."""
        wanted = list(stores)
        while True:
            try:
                self.open_databases(wanted)
                with self.begin(write=True) as txn:
                    result = action(txn)
            except lmdb.MapFullError:
                # Ends the snapshots of other users in this process; their batch fails and is repeated.
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

    def set_idle(self) -> None:
        """Notes the state of the file, now that the environment has no users."""
        self._idle_since = _identity(os.fstat(self._data))

    def resume(self) -> bool:
        """Whether an idle environment can be used again: its file is at its path, and no one has changed it."""
        try:
            unchanged = _identity((self.path / "data.mdb").stat()) == self._idle_since
        except OSError:
            return False
        if unchanged:
            self._free_dead_readers()
        return unchanged

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
        # that a file that is too short is always a damaged one.
        if self._missing_bytes():
            os.truncate(self._data, self._needed_bytes())

    def _missing_bytes(self) -> bool:
        return os.fstat(self._data).st_size < self._needed_bytes()

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
        # LMDB reports everything else.
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise


def acquire(path: Path, map_size: int = MAP_SIZE) -> Environment:
    """Opens the environment at `path`, or a new one if it is missing or damaged. Call `release` when done."""
    shared = _open_environments.get(str(path))
    if shared is not None and shared.is_usable:
        if shared.users or shared.resume():
            shared.users += 1
            return shared
        _close_idle(shared)
    path.parent.mkdir(parents=True, exist_ok=True)
    _open_environments[str(path)] = environment = _open_or_create(path, map_size)
    return environment


def _open_or_create(path: Path, map_size: int) -> Environment:
    for _ in range(_ATTEMPTS):
        try:
            return Environment(path, map_size)
        except (ReplicaDamage, FileNotFoundError):
            # It is damaged, or another process is just replacing it.
            discard(path)
    return Environment(path, map_size)


def release(environment: Environment, *, stays_open: bool = False) -> None:
    """Ends one use of an environment; the last one closes it, or leaves it open for the next `acquire` of its path.

    The process keeps a limited number of environments open without users; the one used longest ago is closed first.
    """
    environment.users -= 1
    if environment.users:
        return
    if not (stays_open and _is_registered(environment) and environment.is_usable):
        _close_idle(environment)
        return
    environment.set_idle()
    _open_environments[str(environment.path)] = _open_environments.pop(str(environment.path))
    idle = [other for other in _open_environments.values() if other.is_usable and not other.users]
    for other in idle[:-_MAX_IDLE]:
        _close_idle(other)


def _close_idle(environment: Environment) -> None:
    unregister(environment)
    environment.close()


def unregister(environment: Environment) -> None:
    """Makes the next `acquire` of its path open the files again; current users keep this environment."""
    if _is_registered(environment):
        del _open_environments[str(environment.path)]


def _is_registered(environment: Environment) -> bool:
    return _open_environments.get(str(environment.path)) is environment


def replace(path: Path, fresh: Environment) -> None:
    """Moves a filled environment to `path`, for all later calls of `acquire`; current users of the old one keep it.

    If other processes do the same in every attempt, `fresh` stays usable and disappears with its last user.
    """
    for _ in range(_ATTEMPTS):
        discard(path)
        try:
            fresh.path.rename(path)
        except FileNotFoundError:
            return
        except OSError:
            # Another process has moved its own there in the meantime.
            continue
        fresh.path = path
        _open_environments[str(path)] = fresh
        return
    discard(fresh.path)


def discard(path: Path) -> None:
    """Removes the files of an environment at once, even if processes have them open."""
    shared = _open_environments.get(str(path))
    if shared is not None and not shared.users:
        _close_idle(shared)
    doomed = path.with_name(f"doomed-{os.urandom(8).hex()}")
    try:
        path.rename(doomed)
    except OSError:
        return
    shutil.rmtree(doomed, ignore_errors=True)


def _identity(file: os.stat_result) -> tuple[int, ...]:
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns


@cache
def boot_id() -> str:
    """A random id that Linux chooses at each boot; empty on other systems."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
