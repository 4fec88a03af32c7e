"""The numbered log of a state directory: the single source of truth about starts, plans and commits.

A process creates an entry exclusively, after it has read the previous one. So if two processes write at once, one
finds its number taken and knows that another start has taken over. There is no lock that a suspended process could
hold.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from headrace._state.log.entries import ApplicationState, Base, BatchPlan, Commit, LogEntry, Start, decode, encode
from headrace._state.log.files import TEMPORARY, Files
from headrace._state.log.objects import OBJECTS
from headrace.errors import StateError

LOG = "log"
DISCARDED_LOG = "log.discarded"
_BASE_EVERY = 32
_KEEP_BEFORE_BASE = 64
_ATTEMPTS = 20


class LogView(NamedTuple):
    """The content of the log up to an entry: the start and the state.

    `number` and `digest` are the number and the checksum of that entry. `since_base` is the number of entries since the
    last one with a complete state.
    """

    number: int
    digest: int
    epoch: int
    start: Start
    state: ApplicationState
    since_base: int = 0

    @property
    def unfinished(self) -> BatchPlan | None:
        """The plan of a batch that is not committed, or `None`. Such a batch must run as planned, before any other."""
        return self.state.plan

    @property
    def next_offsets(self) -> dict[str, int]:
        """Where the application continues in each topic-partition: the committed offset, else the first to read."""
        return {**self.start.first_offsets, **self.state.offsets}

    def after(self, number: int, entry: LogEntry, digest: int) -> LogView:
        """The view after the next entry."""
        if entry.base is not None:
            return LogView(number, digest, entry.epoch, entry.base.start, entry.base.state)
        state = self.state
        if entry.plan is not None:
            state = msgspec.structs.replace(state, plan=entry.plan)
        elif entry.commit is not None:
            state = state.after(entry.commit)
        return LogView(number, digest, entry.epoch, self.start, state, self.since_base + 1)


class TakenOverError(StateError):
    """Another start of the application has written the log since it was read."""


class StateLog:
    """Reads the log and appends to it. Caches the last view, so that the next read needs only the entries after it."""

    def __init__(self, files: Files, describe: str) -> None:
        self.files = files
        self.describe = describe
        self._view: LogView | None = None

    def view(self) -> LogView | None:
        """The current content of the log; `None` before the first start.

        Raises:
            StateError: if an entry is missing or damaged.
        """
        for _ in range(_ATTEMPTS):
            newest = max(self._numbers(), default=0)
            if not newest:
                self._view = None
                return None
            try:
                view = self._read(newest)
            except FileNotFoundError as error:
                missing = error  # another process has trimmed the log since it was listed
                continue
            if self._view is None or self._view.digest != view.digest:
                # Its writer may have been killed before the sync: no process must act on an entry that may be lost.
                self.files.settle(LOG)
            self._view = view
            return view
        message = (
            f"{self.describe}: {missing.filename!r} is missing from the state log. Restore the state directory from a "
            "copy, or start over with `headrace reset`."
        )
        raise StateError(message) from missing

    def start(self, before: LogView | None, start: Start, forget_offsets: Collection[str] = ()) -> LogView:
        """Appends a start, and returns the view after it.

        `before` is the view after the newest entry, `None` if the log is empty. The state stays the same, except that
        the offsets in `forget_offsets` are removed: those of topics that were deleted.

        Raises:
            TakenOverError: if another process has written an entry after `before`. The caller may read the log again
                and repeat the call.
        """
        for directory in (LOG, OBJECTS):
            self.files.make_directory(directory)
        epoch, state = (1, ApplicationState()) if before is None else (before.epoch + 1, before.state)
        if forget_offsets:
            offsets = {key: offset for key, offset in state.offsets.items() if key not in forget_offsets}
            state = msgspec.structs.replace(state, offsets=offsets)
        entry = LogEntry(epoch, _nonce(), _digest(before), start=start, base=Base(start, state))
        view = self._append(before, entry, start.instance)
        self._trim(view.number - _KEEP_BEFORE_BASE)
        return view

    def plan(self, before: LogView, plan: BatchPlan) -> LogView:
        """Appends the plan of the next batch, and returns the view after this entry.

        `before` must be the view after the newest entry: the one that the last append or `view()` returned.

        Raises:
            TakenOverError: if another process has written an entry after `before`, or the application was reset. This
                process must end.
        """
        return self._append(before, LogEntry(before.epoch, _nonce(), before.digest, plan=plan), before.start.instance)

    def commit(self, before: LogView, commit: Commit) -> LogView:
        """Appends the commit of the next batch, and returns the view after it: its changes are now permanent.

        `before` must be the view after the newest entry, and a `TakenOverError` is raised, as in `plan`.
        """
        base = None
        if before.since_base >= _BASE_EVERY:
            base = Base(before.start, before.state.after(commit))
        entry = LogEntry(before.epoch, _nonce(), before.digest, commit=commit, base=base)
        view = self._append(before, entry, before.start.instance)
        if base is not None:
            self._trim(view.number - _KEEP_BEFORE_BASE)
        return view

    def recent_commits(self) -> list[Commit]:
        """The last commits whose entries still exist, oldest first."""
        commits = []
        for number in sorted(self._numbers()):
            data = self._content(number)
            entry = None if data is None else decode(data, self._name(number))
            if entry is not None and entry.commit is not None:
                commits.append(entry.commit)
        return commits

    def superseded(self, epoch: int, instance: str) -> TakenOverError:
        """Returns the error for a start that can no longer write; its message says why."""
        now = self.view()
        if now is None or now.epoch < epoch or now.start.instance != instance:
            return TakenOverError(f"{self.describe} was reset: this start ends without writing.")
        if now.epoch == epoch:
            return TakenOverError(f"{self.describe}: another attempt has committed this batch; this one ends.")
        return TakenOverError(
            f"{self.describe} was started again (start {now.epoch}; this is start {epoch}): the newer start "
            "continues, this one ends without writing."
        )

    def sweep_temporary(self) -> None:
        """Deletes the temporary files of processes that were killed while they wrote an entry."""
        for name in self.files.list(LOG):
            if name.startswith(TEMPORARY):
                self.files.delete(f"{LOG}/{name}")

    def _append(self, before: LogView | None, entry: LogEntry, instance: str) -> LogView:
        if before is not None and self._has_seen_others_since(before):
            raise self.superseded(entry.epoch, instance)
        number = 1 if before is None else before.number + 1
        data = encode(entry)
        try:
            # An equal entry, nonce included, was created by this very call, though the file system reported a failure.
            if not self.files.publish(_path(number), data) and self._content(number) != data:
                raise self.superseded(entry.epoch, instance)
        except FileNotFoundError as error:
            raise self.superseded(entry.epoch, instance) from error  # a reset has deleted the log
        digest = zlib.crc32(data)
        # The number may be free only because other starts wrote and trimmed it while this process was suspended. Then
        # the previous entry is missing as well, and this process deletes the entry that it has just created.
        if not (self._is_first(digest) if before is None else self._still_exists(before)):
            if self._content(number) == data:
                self.files.delete(_path(number))
            raise self.superseded(entry.epoch, instance)
        if before is None:
            assert entry.base is not None
            self._view = LogView(number, digest, entry.epoch, entry.base.start, entry.base.state)
        else:
            self._view = before.after(number, entry, digest)
        return self._view

    def _has_seen_others_since(self, before: LogView) -> bool:
        seen = self._view
        if seen is None or seen.digest == before.digest:
            return False
        return seen.number >= before.number or seen.start.instance != before.start.instance

    def _is_first(self, digest: int) -> bool:
        """Whether entry 1, which has the checksum `digest`, begins the log: later entries, if any, must continue it."""
        if all(number <= 1 for number in self._numbers()):
            return True
        second = self._content(2)
        return second is not None and decode(second, self._name(2)).before == digest

    def _still_exists(self, view: LogView) -> bool:
        content = self._content(view.number)
        return content is not None and zlib.crc32(content) == view.digest

    def _read(self, newest: int) -> LogView:
        cached = self._view
        if cached is not None and cached.number <= newest and self._still_exists(cached):
            return self._fold(cached, range(cached.number + 1, newest + 1))
        for number in range(newest, 0, -1):
            entry, digest = self._entry(number)
            if entry.base is not None and self._continues(number, entry):
                view = LogView(number, digest, entry.epoch, entry.base.start, entry.base.state)
                return self._fold(view, range(number + 1, newest + 1))
        message = f"{self.describe}: the state log has no entry with a whole state. {_ADVICE}"
        raise StateError(message)

    def _continues(self, number: int, entry: LogEntry) -> bool:
        """Whether the previous entry, if it still exists, is the one that this entry was written after."""
        previous = self._content(number - 1)
        return previous is None or zlib.crc32(previous) == entry.before

    def _fold(self, view: LogView, numbers: range) -> LogView:
        for number in numbers:
            entry, digest = self._entry(number)
            if entry.before != view.digest:
                break
            view = view.after(number, entry, digest)
        return view

    def _entry(self, number: int) -> tuple[LogEntry, int]:
        data = self.files.read(_path(number))
        return decode(data, self._name(number)), zlib.crc32(data)

    def _name(self, number: int) -> str:
        return f"{self.describe}: entry {number} of the state log"

    def _content(self, number: int) -> bytes | None:
        try:
            return self.files.read(_path(number))
        except FileNotFoundError:
            return None

    def _numbers(self) -> list[int]:
        return [int(name) for name in self.files.list(LOG) if name.isdigit()]

    def _trim(self, below: int) -> None:
        """Deletes entries below a number, lowest first, so that the remaining ones never have a gap."""
        for number in sorted(self._numbers()):
            if number >= below:
                return
            self.files.delete(_path(number))


_ADVICE = "Restore the state directory from a copy, or start over with `headrace reset`."


def _path(number: int) -> str:
    return f"{LOG}/{number:012d}"


def _digest(view: LogView | None) -> int:
    return 0 if view is None else view.digest


def _nonce() -> str:
    return os.urandom(8).hex()
