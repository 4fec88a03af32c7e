"""The local copy of a task's stores: a cache in one LMDB environment, which also records its position.

It receives only committed deltas and moves from one position to the next in one transaction, so it may be deleted, cut
short or replaced by an older copy at any time. Several processes may have it open: a delta is not applied if another
process has moved the replica to another position, and a rebuild happens in a new directory, which then replaces it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import lmdb

from headrace._files import full_disk
from headrace._formats import REPLICA
from headrace._private import directory_in, temporary_directory
from headrace._state.changes.delta import Columns
from headrace._state.replica import longkeys
from headrace._state.replica import open_environments as environments
from headrace._state.replica.environment import MAP_SIZE, Environment, boot_id
from headrace._state.replica.position import ORIGIN, Position
from headrace._state.replica.snapshot import POSITION_SLOT, Snapshot, empty_slot
from headrace.errors import StateError


def replicas_of(instance: str, local_dir: str | Path | None) -> Path:
    """The directory of an application's replicas on this machine, inside a directory that only this user can enter.

    Raises:
        ConfigError: if another user could read or change the replicas.
    """
    private = temporary_directory() if local_dir is None else directory_in(Path(local_dir))
    return private / "replicas" / instance


class ReplicaBuilder:
    """Fills a new replica. Each call is one transaction, so memory stays bounded."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def append(self, delta: Mapping[str, Columns]) -> None:
        """Writes entries whose keys are all greater than those already in their store."""
        self._write(delta, append=True)

    def apply(self, delta: Mapping[str, Columns]) -> None:
        self._write(delta, append=False)

    def _write(self, delta: Mapping[str, Columns], append: bool) -> None:
        self._environment.write(delta, lambda txn: _write(txn, self._environment, delta, append=append))


class Replica:
    """The replica of one task of one stage of one application, in `directory`. Opened at first use.

    With `stays_open`, this process keeps its files open after `close()`, because the next batch needs them again.
    """

    def __init__(self, directory: Path, *, map_size: int = MAP_SIZE, stays_open: bool = False) -> None:
        # One name for each directory: LMDB must not open an environment twice.
        self.directory = directory.resolve()
        self._stays_open = stays_open
        self._live = self.directory / f"live-{REPLICA}-{boot_id()}"
        self._map_size = map_size
        self._environment: Environment | None = None

    def exists(self) -> bool:
        """Whether this machine has a replica in this format that was written since the last boot."""
        return (self._live / "data.mdb").exists()

    def snapshot(self) -> Snapshot:
        """The current content of the replica; a damaged one is wiped and reads as empty."""
        try:
            return Snapshot(self._open_environment())
        except lmdb.ReadersFullError as error:
            message = f"Too many snapshots of {self.directory} are open: close stores that are no longer read."
            raise StateError(message) from error
        except lmdb.Error:
            self.wipe()
            return Snapshot(self._open_environment())

    def apply(self, delta: Mapping[str, Columns], before: Position, after: Position) -> bool:
        """Applies `delta`, which moves the replica from `before` to `after`.

        Returns false if the replica is not at `before`, and then does nothing, or if it is damaged, and then wipes it.

        Raises:
            StateError: if the disk is full; the replica is unchanged then.
        """
        environment = self._open_environment()

        def move(txn: Any) -> bool:
            if txn.get(POSITION_SLOT, ORIGIN.to_bytes()) != before.to_bytes():
                return False
            _write(txn, environment, delta)
            return bool(txn.put(POSITION_SLOT, after.to_bytes()))

        try:
            return environment.write(delta, move)
        except lmdb.DiskError as error:
            raise self._write_error(error) from error
        except lmdb.Error:
            self.wipe()
            return False

    def reset(self, position: Position, fill: Callable[[ReplicaBuilder], None]) -> None:
        """Replaces the whole content with what `fill` writes, and records that it is at `position`.

        Raises:
            StateError: if the local directory cannot be written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            fresh = Environment(self.directory / f"rebuild-{os.getpid()}-{os.urandom(8).hex()}", self._map_size)
        except (OSError, lmdb.Error) as error:
            raise self._write_error(error) from error
        try:
            fill(ReplicaBuilder(fresh))
            fresh.write((), lambda txn: txn.put(POSITION_SLOT, position.to_bytes()))
        except BaseException as error:
            fresh.close()
            environments.discard(fresh.path)
            if isinstance(error, lmdb.Error):
                raise self._write_error(error) from error
            raise
        self.close()
        environments.replace(self._live, fresh)
        self._environment = fresh
        self._sweep_leftovers()

    def wipe(self) -> None:
        """Deletes the content; the next use starts empty."""
        if self._environment is not None:
            environments.unregister(self._environment)
        self.close()
        environments.discard(self._live)

    def close(self) -> None:
        if self._environment is not None:
            environments.release(self._environment, stays_open=self._stays_open)
            self._environment = None

    def _open_environment(self) -> Environment:
        if self._environment is None:
            try:
                self._environment = environments.acquire(self._live, self._map_size)
            except (OSError, lmdb.Error) as error:
                raise self._write_error(error) from error
        return self._environment

    def _write_error(self, error: Exception) -> StateError:
        if isinstance(error, lmdb.DiskError):
            error = OSError(errno.ENOSPC, str(error))
        full = full_disk(error, self.directory) if isinstance(error, OSError) else None
        cause = full or f"{error}. Make it writable"
        message = (
            f"Cannot write the local copy of the state in {str(self.directory)!r}: {cause}"
            ", or set local_dir to a directory on another disk; the application continues after its last committed "
            "batch when started again."
        )
        return StateError(message)

    def _sweep_leftovers(self) -> None:
        """Removes directories of killed processes, of other formats, and from before the last boot."""
        with suppress(OSError):
            for entry in self.directory.iterdir():
                if entry.is_dir() and entry != self._live and not _is_in_progress(entry.name):
                    environments.discard(entry)


def _is_in_progress(name: str) -> bool:
    """Whether a directory is being rebuilt by a process that is still running."""
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
