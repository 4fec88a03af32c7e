"""LMDB environments as a cache uses them: quick to open, shared within a process, wiped when damaged.

Nothing is synced: a killed process leaves an environment whole, as its pages are with the kernel, and a machine that
went down is recognised by its boot id, which is part of the path. LMDB refuses to open an environment twice in a
process, so openings are counted here. A handle outlives the deletion of its files, which then vanish with it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import lmdb

T = TypeVar("T")

Damage = lmdb.Error

# Address space, not memory or disk: the file grows with what is stored.
MAP_SIZE = 64 << 30 if sys.maxsize > 1 << 32 else 512 << 20
_MAX_STORES = 512
_MAX_READERS = 4096
_ATTEMPTS = 3

_opened: dict[str, Environment] = {}


class Environment:
    """One open LMDB environment and the databases opened in it."""

    def __init__(self, path: Path, map_size: int) -> None:
        self.path = path
        self.users = 1
        self.databases: dict[str, Any] = {}
        self._process = os.getpid()
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
                # Ends snapshots that others in this process hold; their batch fails and is repeated.
                self._lmdb.set_mapsize(2 * self._lmdb.info()["map_size"])
            else:
                self._cover()
                return result

    def open_databases(self, stores: Iterable[str]) -> None:
        """Opens, and creates where missing, the databases of some stores."""
        missing = [store for store in stores if store not in self.databases]
        if missing:
            with self.begin(write=True) as txn:
                found = {store: self._lmdb.open_db(store.encode(), txn=txn) for store in missing}
            self.databases.update(found)

    def close(self) -> None:
        # After a fork the handle is the parent's: LMDB must not be touched with it.
        if self.usable:
            self._close()

    @property
    def usable(self) -> bool:
        return self._process == os.getpid()

    def _open(self, map_size: int) -> None:
        self._lmdb = _open_lmdb(self.path, map_size)
        try:
            # A descriptor of its own: the path may lead elsewhere before the file is measured.
            self._data = os.open(self.path / "data.mdb", os.O_RDWR)
        except OSError:
            self._lmdb.close()
            raise
        # Readers of processes that died would keep old pages from being used again.
        self._lmdb.reader_check()
        if self._missing_bytes():
            # Reading a page that the file lacks would kill the process.
            self._close()
            message = f"{self.path} is cut short"
            raise lmdb.CorruptedError(message)

    def _close(self) -> None:
        self._lmdb.close()
        os.close(self._data)
        self.databases.clear()

    def _cover(self) -> None:
        # LMDB leaves out trailing pages that a transaction took and freed; a whole file is told by its length.
        if self._missing_bytes():
            os.truncate(self._data, self._needed_bytes())

    def _missing_bytes(self) -> bool:
        return os.fstat(self._data).st_size < self._needed_bytes()

    def _needed_bytes(self) -> int:
        pages: int = self._lmdb.info()["last_pgno"] + 1
        size: int = self._lmdb.stat()["psize"]
        return pages * size


def _open_lmdb(path: Path, map_size: int) -> Any:
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
            # The process may have less address space than asked for.
            if map_size <= 1 << 30:
                raise
            map_size //= 4


def acquire(path: Path, map_size: int = MAP_SIZE) -> Environment:
    """The environment at `path`, created if it is missing and created anew if it is damaged; `release` it when done."""
    shared = _opened.get(str(path))
    if shared is not None and shared.usable:
        shared.users += 1
        return shared
    path.parent.mkdir(parents=True, exist_ok=True)
    _opened[str(path)] = environment = _open_or_create(path, map_size)
    return environment


def _open_or_create(path: Path, map_size: int) -> Environment:
    for _ in range(_ATTEMPTS):
        try:
            return Environment(path, map_size)
        except (Damage, FileNotFoundError):
            # Damaged, or just being replaced by another process.
            discard(path)
    return Environment(path, map_size)


def release(environment: Environment) -> None:
    """Gives back one use; the last one closes the environment."""
    environment.users -= 1
    if environment.users == 0:
        forget(environment)
        environment.close()


def forget(environment: Environment) -> None:
    """Lets the next `acquire` of its path open files anew, while present users keep this one."""
    if _opened.get(str(environment.path)) is environment:
        del _opened[str(environment.path)]


def replace(path: Path, fresh: Environment) -> None:
    """Puts a filled environment where `path` is, and hands it out from now on; present users of the old one keep it.

    Should other processes do the same without pause, `fresh` stays usable and vanishes with its last user.
    """
    for _ in range(_ATTEMPTS):
        discard(path)
        try:
            fresh.path.rename(path)
        except FileNotFoundError:
            return
        except OSError:
            # Another process has put its own there meanwhile.
            continue
        fresh.path = path
        _opened[str(path)] = fresh
        return
    discard(fresh.path)


def discard(path: Path) -> None:
    """Removes an environment's files at once, also under processes that have them open."""
    doomed = path.with_name(f"doomed-{os.urandom(8).hex()}")
    try:
        path.rename(doomed)
    except OSError:
        return
    shutil.rmtree(doomed, ignore_errors=True)


@cache
def boot_id() -> str:
    """What identifies the running system since it was booted; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
