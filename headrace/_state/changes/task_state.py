"""The state of one task during one batch: durable state, the local replica of it, and the batch's changes on top.

The replica receives only deltas that are committed in durable state. So a batch that fails or is repeated leaves no
trace: its changes were in memory, and no head will name the nonce of its delta.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from headrace._state.bytes.overlay import OverlayStore
from headrace._state.changes.compaction import CompactionPolicy, advance
from headrace._state.changes.delta import Delta, decode_columns, encode_columns, sort_changes
from headrace._state.changes.durable import DurableTask
from headrace._state.changes.head import Head, RetainedDelta
from headrace._state.changes.restore import restore
from headrace._state.replica.environment import ReplicaDamage
from headrace._state.replica.position import Position
from headrace._state.replica.replica import Replica, ReplicaBuilder
from headrace._state.replica.snapshot import Snapshot
from headrace.errors import StateError

_ATTEMPTS = 5
_RECENT_BYTES = 4 << 20


class _RecentDelta(NamedTuple):
    """A delta, and the positions between which it moves a replica."""

    before: Position
    after: Position
    delta: Delta


# The last delta of each task that this process has run, if it is small, so that the next batch need not read it again.
_recent_deltas: dict[Path, _RecentDelta] = {}


def apply_last_delta(replica: Replica) -> None:
    """Applies the last delta that this process has written for a task to the task's replica, and closes the replica.

    Otherwise the next batch of the task would have to do so first. Done before there is new input, it does not delay
    that batch. Call it only after the commit: a replica with the delta of a failed batch must be restored from durable
    state.

    Raises:
        StateError: if the local directory cannot be written.
    """
    recent = _recent_deltas.pop(replica.directory, None)
    try:
        if recent is not None:
            replica.apply(recent.delta, recent.before, recent.after)
    finally:
        replica.close()


class TaskState:
    """The state of one task: opens its stores and commits their changes. One object serves one batch.

    Args:
        durable: the durable state.
        replica: the local copy; it is brought up to date with `durable`, and closed with this object.
        describe: names application, stage and task in errors.
        policy: when and how much to compact.

    `processors` are the saved processors of the task: a part of its durable state, but not of the replica.
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
        self.processors: bytes | None = None

    def open(self) -> None:
        """Reads the head and brings the replica up to date with it.

        Raises:
            StateError: if durable state is damaged, or the local directory cannot be written.
        """
        blob = self._durable.get_head()
        self._head = Head() if blob is None else Head.decode(blob, f"{self._describe}, head")
        self.processors = self._head.processors
        self._snapshot = self._synchronize()

    def store(self, name: str) -> OverlayStore:
        """The store of that name, with the changes of this batch; empty if it was never written."""
        if name not in self._stores:
            if not name or "\x00" in name:
                message = f"{self._describe}: {name!r} is not a valid store name: it must not be empty or contain NUL."
                raise StateError(message)
            self._stores[name] = OverlayStore(self._open_snapshot().reader(name))
        return self._stores[name]

    @property
    def position(self) -> Position:
        """The position of the state when it was opened."""
        return self._head.position

    def commit(self) -> None:
        """Writes the changes of the batch, and a step of compaction, to the durable state; not to the replica.

        They count once the batch is committed. If no store and no processor has changed, nothing is written.
        """
        changes = {name: store.changes for name, store in self._stores.items() if store.changes}
        if not changes and self.processors == self._head.processors:
            return
        position = self._head.position.next()
        delta = sort_changes(changes)
        blob, size = encode_columns(delta)
        self._durable.put_delta(position.version, blob)
        head = advance(self._head, self._durable, self._open_snapshot(), size, self._policy)
        deltas = (*head.deltas, RetainedDelta(*position, size))
        head = msgspec.structs.replace(head, position=position, deltas=deltas, processors=self.processors)
        self._durable.put_head(head.encode())
        if size <= _RECENT_BYTES:
            _recent_deltas[self._replica.directory] = _RecentDelta(self._head.position, position, delta)

    def close(self) -> None:
        """Closes the replica and discards uncommitted changes."""
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
        while error is not None and not isinstance(error, ReplicaDamage):
            error = error.__cause__ or error.__context__
        if error is not None:
            # The replica is damaged: without it the next attempt restores from durable state.
            self._replica.wipe()

    def _open_snapshot(self) -> Snapshot:
        if self._snapshot is None:
            message = f"{self._describe}: the state is not open; call open() first, and use its stores before close()."
            raise StateError(message)
        return self._snapshot

    def _synchronize(self) -> Snapshot:
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
            f"{self._describe}: another process changed the local copy in {self._replica.directory} during each of "
            f"{_ATTEMPTS} attempts to bring it to version {self._head.position.version}. Give each query its own "
            "local_dir."
        )
        raise StateError(message)

    def _restore(self, target: ReplicaBuilder) -> None:
        restore(self._durable, self._head, target, self._describe)

    def _catch_up(self, position: Position, missing: tuple[RetainedDelta, ...]) -> None:
        for entry in missing:
            if not self._replica.apply(self._load_delta(entry.position), position, entry.position):
                return
            position = entry.position

    def _load_delta(self, position: Position) -> Delta:
        recent = _recent_deltas.pop(self._replica.directory, None)
        if recent is not None and recent.after == position:
            return recent.delta
        return decode_columns(
            self._durable.get_delta(position.version), f"{self._describe}, delta of version {position.version}"
        )
