"""The state of one task over one batch: durable log and base, local replica, and the batch's own changes on top.

The replica only receives deltas that durable state has committed, so a batch that fails or runs again leaves nothing
behind: its changes were in memory, and its delta bears a nonce that no head will name.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from headrace._state.bytes.overlay import OverlayStore
from headrace._state.changes.compaction import CompactionPolicy, advance
from headrace._state.changes.delta import Delta, decode, encode_columns, in_order
from headrace._state.changes.durable import DurableTask
from headrace._state.changes.head import Head, LogEntry
from headrace._state.changes.restore import restore
from headrace._state.replica.environment import Damage
from headrace._state.replica.position import Position
from headrace._state.replica.replica import Rebuild, Replica
from headrace._state.replica.snapshot import Snapshot
from headrace.errors import StateError

_ATTEMPTS = 5
_RECENT_BYTES = 4 << 20

# The last delta of each task that this process has run, if it is small: the next batch need not read and decode it.
_recent: dict[Path, tuple[Position, Delta]] = {}


class TaskState:
    """Opens a task's state, gives its stores, and commits what changed. One object serves one batch.

    Args:
        durable: where the state is kept.
        replica: the local copy; it is brought to what `durable` holds, and closed with this object.
        describe: names application, stage and task in errors.
        policy: when and how far to compact.
    """

    def __init__(
        self, durable: DurableTask, replica: Replica, describe: str, *, policy: CompactionPolicy | None = None
    ) -> None:
        self._durable = durable
        self._replica = replica
        self._describe = describe
        self._policy = policy or CompactionPolicy()
        self._stores: dict[str, OverlayStore] = {}
        self._head = Head()
        self._snapshot: Snapshot | None = None

    def open(self) -> None:
        """Reads the head and brings the replica to it.

        Raises:
            StateError: if durable state is damaged, or the local directory cannot be written.
        """
        blob = self._durable.get_head()
        self._head = Head() if blob is None else Head.decode(blob, f"{self._describe}, head")
        self._snapshot = self._synchronized()

    def store(self, name: str) -> OverlayStore:
        """The store of that name with the changes of this batch; empty if it was never written."""
        if name not in self._stores:
            if not name or "\x00" in name:
                message = f"{self._describe}: {name!r} is no name for a store; it must have characters, and no NUL."
                raise StateError(message)
            self._stores[name] = OverlayStore(self._opened().reader(name))
        return self._stores[name]

    @property
    def position(self) -> Position:
        """Where the state stood when it was opened."""
        return self._head.position

    def commit(self) -> None:
        """Writes what the batch changed, and a step of compaction; nothing at all if nothing changed."""
        changes = {name: store.changes for name, store in self._stores.items() if store.changes}
        if not changes:
            return
        position = self._head.position.next()
        delta = in_order(changes)
        blob, size = encode_columns(delta)
        self._durable.put_delta(position.version, blob)
        head = advance(self._head, self._durable, self._opened(), size, self._policy)
        log = (*head.log, LogEntry(*position, size))
        self._durable.put_head(msgspec.structs.replace(head, position=position, log=log).encode())
        if size <= _RECENT_BYTES:
            _recent[self._replica.directory] = (position, delta)

    def close(self) -> None:
        """Lets go of the replica; changes that were not committed are forgotten."""
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
        self._replica.close()

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        while error is not None and not isinstance(error, Damage):
            error = error.__cause__ or error.__context__
        if error is not None:
            # The replica failed while it was read: without it the next attempt starts from durable state.
            self._replica.wipe()

    def _opened(self) -> Snapshot:
        if self._snapshot is None:
            message = f"{self._describe}: the state is not open; call open() first, and use its stores before close()."
            raise StateError(message)
        return self._snapshot

    def _synchronized(self) -> Snapshot:
        for _ in range(_ATTEMPTS):
            snapshot = self._replica.snapshot()
            if snapshot.position == self._head.position:
                return snapshot
            snapshot.close()
            missing = self._head.missing(snapshot.position)
            if missing is None:
                self._replica.reset(self._head.position, self._restore)
            else:
                self._catch_up(snapshot.position, missing)
        message = (
            f"{self._describe}: the local copy in {self._replica.directory} was changed by another process each of "
            f"{_ATTEMPTS} times it was brought to version {self._head.position.version}. Let one query use a local_dir."
        )
        raise StateError(message)

    def _restore(self, target: Rebuild) -> None:
        restore(self._durable, self._head, target, self._describe)

    def _catch_up(self, position: Position, missing: tuple[LogEntry, ...]) -> None:
        for entry in missing:
            if not self._replica.apply(self._delta(entry.position), position, entry.position):
                return
            position = entry.position

    def _delta(self, position: Position) -> Delta:
        known, delta = _recent.pop(self._replica.directory, (None, None))
        if delta is not None and known == position:
            return delta
        return decode(
            self._durable.get_delta(position.version), f"{self._describe}, delta of version {position.version}"
        )
