"""The local copy of a task's stores: a cache in one LMDB environment that says itself at which position it stands.

It receives only what durable state has committed, moves from one position to the next in one transaction, and may be
deleted, cut short or replaced by an older copy at any time. Several processes may have it open: a step from a
position that another one has left is refused, and a rebuild happens aside and takes its place when it is complete.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import lmdb

from headrace._state.changes.delta import Columns
from headrace._state.replica import environment as environments
from headrace._state.replica import longkeys
from headrace._state.replica.environment import MAP_SIZE, Environment, boot_id
from headrace._state.replica.position import ORIGIN, Position
from headrace._state.replica.snapshot import POSITION_SLOT, Snapshot, empty_slot
from headrace.errors import StateError


def replicas_of(instance: str, local_dir: str | Path | None) -> Path:
    """Where the tasks of an application have their replicas on a machine."""
    return Path(local_dir or tempfile.gettempdir()) / "headrace-replicas" / instance


class Rebuild:
    """The writing end of a replica that is being filled aside; each call is a transaction, so memory stays bounded."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def append(self, delta: Mapping[str, Columns]) -> None:
        """Writes entries of which every key lies beyond all that its store has so far."""
        self._write(delta, append=True)

    def apply(self, delta: Mapping[str, Columns]) -> None:
        self._write(delta, append=False)

    def _write(self, delta: Mapping[str, Columns], append: bool) -> None:
        self._environment.write(delta, lambda txn: _write(txn, self._environment, delta, append=append))


class Replica:
    """The replica in `directory`, which belongs to one task of one stage of one application. Opened at first use."""

    def __init__(self, directory: Path, *, map_size: int = MAP_SIZE) -> None:
        self.directory = directory
        self._live = directory / f"live-{boot_id()}"
        self._map_size = map_size
        self._environment: Environment | None = None

    def exists(self) -> bool:
        """Whether this machine has one, since it was booted."""
        return (self._live / "data.mdb").exists()

    def snapshot(self) -> Snapshot:
        """What the replica holds now; a damaged one is wiped and reads as empty."""
        try:
            return Snapshot(self._opened())
        except lmdb.ReadersFullError as error:
            message = f"Too many snapshots of {self.directory} are open: let go of stores that are no longer read."
            raise StateError(message) from error
        except lmdb.Error:
            self.wipe()
            return Snapshot(self._opened())

    def apply(self, delta: Mapping[str, Columns], before: Position, after: Position) -> bool:
        """Moves the replica from `before` to `after`; false, and nothing done, if it does not stand at `before`."""
        environment = self._opened()

        def move(txn: Any) -> bool:
            if txn.get(POSITION_SLOT, ORIGIN.to_bytes()) != before.to_bytes():
                return False
            _write(txn, environment, delta)
            return bool(txn.put(POSITION_SLOT, after.to_bytes()))

        try:
            return environment.write(delta, move)
        except lmdb.Error:
            self.wipe()
            return False

    def reset(self, position: Position, fill: Callable[[Rebuild], None]) -> None:
        """Replaces everything by what `fill` writes, at `position`.

        Raises:
            StateError: if the local directory cannot be written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            fresh = Environment(self.directory / f"rebuild-{os.getpid()}-{os.urandom(8).hex()}", self._map_size)
        except (OSError, lmdb.Error) as error:
            raise self._unwritable(error) from error
        try:
            fill(Rebuild(fresh))
            fresh.write((), lambda txn: txn.put(POSITION_SLOT, position.to_bytes()))
        except BaseException as error:
            fresh.close()
            environments.discard(fresh.path)
            if isinstance(error, lmdb.Error):
                raise self._unwritable(error) from error
            raise
        self.close()
        environments.replace(self._live, fresh)
        self._environment = fresh
        self._sweep_leftovers()

    def wipe(self) -> None:
        """Forgets everything; the next use starts empty."""
        if self._environment is not None:
            environments.forget(self._environment)
        self.close()
        environments.discard(self._live)

    def close(self) -> None:
        if self._environment is not None:
            environments.release(self._environment)
            self._environment = None

    def _opened(self) -> Environment:
        if self._environment is None:
            try:
                self._environment = environments.acquire(self._live, self._map_size)
            except (OSError, lmdb.Error) as error:
                raise self._unwritable(error) from error
        return self._environment

    def _unwritable(self, error: Exception) -> StateError:
        message = (
            f"The local copy of the state in {self.directory} cannot be written: {error}. "
            "Free or enlarge the disk, or set local_dir to a directory that can be written."
        )
        return StateError(message)

    def _sweep_leftovers(self) -> None:
        """Removes what killed processes, and the time before the last boot, have left."""
        with suppress(OSError):
            for entry in self.directory.iterdir():
                if entry.is_dir() and entry != self._live and not _is_in_progress(entry.name):
                    environments.discard(entry)


def _is_in_progress(name: str) -> bool:
    """Whether a directory is the rebuild of a process that is alive."""
    kind, process, *_ = (*name.split("-"), "")
    if kind != "rebuild" or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _write(txn: Any, environment: Environment, delta: Mapping[str, Columns], *, append: bool = False) -> None:
    for store, columns in delta.items():
        longkeys.write(txn, environment.databases[store], empty_slot(store), columns, append=append)
