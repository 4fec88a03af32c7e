"""Reads committed state while the application runs: all tasks as of the same commit."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from headrace._private import temporary_directory
from headrace._state.changes.delta import decode_columns
from headrace._state.changes.head import Head
from headrace._state.changes.restore import restore
from headrace._state.log.entries import Location
from headrace._state.log.files import Files
from headrace._state.log.objects import MissingObjectError
from headrace._state.log.state_log import LogView, StateLog
from headrace._state.log.task import LoggedTask
from headrace._state.replica.replica import Replica
from headrace._state.replica.snapshot import Snapshot
from headrace.errors import StateError

_ATTEMPTS = 20


class _OtherPositionError(Exception):
    """The replica of a task is not at the position that the commit names, so the attempt must be repeated."""


class CommittedTasks:
    """Snapshots of tasks as of one commit. They are closed when this object is garbage-collected.

    The replicas on this machine are used. If a replica lacks the last deltas, they are applied to it, as its task would
    do in the next batch. If there is no replica, or its content is not an earlier version of the committed state, the
    state is restored into a temporary directory.
    """

    def __init__(self) -> None:
        self.snapshots: dict[str, Snapshot] = {}
        self._resources = ExitStack()
        weakref.finalize(self, self._resources.close)

    @classmethod
    def read(cls, log: StateLog, tasks: Iterable[str], replicas: Path, describe: str) -> CommittedTasks:
        """Opens a snapshot of each of the named tasks, all as of the newest commit; leaves out tasks without state.

        Callers then read entries from `snapshots`. A local replica, in the directory `replicas`, that lacks the last
        deltas is updated. Error messages begin with `describe`, e.g. "application 'clicks'".

        Raises:
            StateError: if state is damaged, or commits follow each other so fast that none can be read in time.
        """
        names = list(tasks)
        restores = False
        for attempt in range(_ATTEMPTS):
            view, found = log.view(), cls()
            try:
                found._open(log.files, view, names, replicas, describe, restores=restores)
            except (_OtherPositionError, MissingObjectError) as error:
                is_newest = log.view() == view
                if is_newest and isinstance(error, MissingObjectError):
                    raise  # no new commit has replaced the object, so the state is damaged
                # Without a newer commit, the replica cannot just be ahead of what was read: it is unusable.
                restores = is_newest or attempt >= _ATTEMPTS // 2
                continue
            return found
        message = (
            f"{describe}: each of {_ATTEMPTS} commits was superseded before its state was read. Set a longer "
            "state_retention, so that readers have more time before files of superseded state are deleted."
        )
        raise StateError(message)

    def _open(
        self, files: Files, view: LogView | None, names: list[str], replicas: Path, describe: str, *, restores: bool
    ) -> None:
        for name in names:
            location = None if view is None else view.state.heads.get(name)
            if location is not None:
                self.snapshots[name] = self._snapshot(files, name, location, replicas, describe, restores=restores)

    def _snapshot(
        self, files: Files, name: str, location: Location, replicas: Path, describe: str, *, restores: bool
    ) -> Snapshot:
        described = f"{describe}, task {name}"
        durable = LoggedTask(files, None, name, location, described)
        head = Head.decode(durable.get_head() or b"", f"{described}, head")
        replica = Replica(replicas / name)
        if restores or not replica.exists():
            directory = self._resources.enter_context(
                tempfile.TemporaryDirectory(prefix="read-", dir=temporary_directory())
            )
            replica = Replica(Path(directory))
            self._resources.callback(replica.close)
            replica.reset(head.position, lambda target: restore(durable, head, target, described))
        else:
            self._resources.callback(replica.close)
            self._catch_up(replica, durable, head, described)
        snapshot = replica.snapshot()
        self._resources.callback(snapshot.close)
        if snapshot.position != head.position:
            raise _OtherPositionError
        return snapshot

    @staticmethod
    def _catch_up(replica: Replica, durable: LoggedTask, head: Head, describe: str) -> None:
        with replica.snapshot() as before:
            position = before.position
        for entry in head.missing(position) or ():
            delta = decode_columns(durable.get_delta(entry.version), f"{describe}, delta of version {entry.version}")
            if not replica.apply(delta, position, entry.position):
                return
            position = entry.position
