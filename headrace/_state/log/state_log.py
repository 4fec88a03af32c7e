"""The numbered log of a state directory: the only truth about what was started, planned and committed.

Each entry is created exclusively, by one who has read the entry before it. So of two who write at once one finds its
number taken, and knows that another start has taken over; no lock is held that a stopped process could keep.
"""

from __future__ import annotations

import os
import zlib
from typing import NamedTuple

import msgspec

from headrace._state.log.entries import Base, BatchPlan, Commit, Entry, Start, State, decode, encode
from headrace._state.log.files import TEMPORARY, Files
from headrace._state.log.objects import OBJECTS
from headrace.errors import StateError

LOG = "log"
DISCARDED_LOG = "log.discarded"
_BASE_EVERY = 32
_KEEP_BEFORE_BASE = 64
_ATTEMPTS = 20


class View(NamedTuple):
    """What the log says up to an entry; `digest` identifies that entry, `since_base` counts entries to be read."""

    number: int
    digest: int
    epoch: int
    start: Start
    state: State
    since_base: int = 0

    @property
    def unfinished(self) -> BatchPlan | None:
        """A batch that was planned and not committed: it must run as it was planned, before any other."""
        return self.state.plan

    def after(self, number: int, entry: Entry, digest: int) -> View:
        """The view that the next entry leads to."""
        if entry.base is not None:
            return View(number, digest, entry.epoch, entry.base.start, entry.base.state)
        state = self.state
        if entry.plan is not None:
            state = msgspec.structs.replace(state, plan=entry.plan)
        elif entry.commit is not None:
            state = state.after(entry.commit)
        return View(number, digest, entry.epoch, self.start, state, self.since_base + 1)


class TakenOverError(StateError):
    """Another start of the application has written the log since it was read."""


class StateLog:
    """Reads and appends the log. One object may be kept and asked again: it reads only what is new."""

    def __init__(self, files: Files, describe: str) -> None:
        self.files = files
        self.describe = describe
        self._view: View | None = None

    def view(self) -> View | None:
        """What the log says now; `None` before the first start.

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
                missing = error  # trimmed since it was listed
                continue
            if self._view is None or self._view.digest != view.digest:
                # Whoever wrote it may have been killed before it was on disk: nobody is to act on what may be lost.
                self.files.settle(LOG)
            self._view = view
            return view
        message = (
            f"{self.describe}: {missing.filename!r} is missing from the state log. Restore the state directory from a "
            "copy, or start anew with `headrace reset`."
        )
        raise StateError(message) from missing

    def start(self, before: View | None, start: Start) -> View:
        """Appends a start; the state goes on as it was.

        Raises:
            TakenOverError: if another start came first; read the log again.
        """
        for directory in (LOG, OBJECTS):
            self.files.make_directory(directory)
        epoch, state = (1, State()) if before is None else (before.epoch + 1, before.state)
        entry = Entry(epoch, _nonce(), _digest(before), start=start, base=Base(start, state))
        view = self._append(before, entry, start.instance)
        self._trim(view.number - _KEEP_BEFORE_BASE)
        return view

    def plan(self, before: View, plan: BatchPlan) -> View:
        """Appends the plan of the next batch."""
        return self._append(before, Entry(before.epoch, _nonce(), before.digest, plan=plan), before.start.instance)

    def commit(self, before: View, commit: Commit) -> View:
        """Appends the commit of the next batch: from here on it counts."""
        base = None
        if before.since_base >= _BASE_EVERY:
            base = Base(before.start, before.state.after(commit))
        entry = Entry(before.epoch, _nonce(), before.digest, commit=commit, base=base)
        view = self._append(before, entry, before.start.instance)
        if base is not None:
            self._trim(view.number - _KEEP_BEFORE_BASE)
        return view

    def superseded(self, epoch: int, instance: str) -> TakenOverError:
        """The error for a start that is no longer the newest."""
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
        """Deletes what processes that were killed while they wrote entries have left."""
        for name in self.files.list(LOG):
            if name.startswith(TEMPORARY):
                self.files.delete(f"{LOG}/{name}")

    def _append(self, before: View | None, entry: Entry, instance: str) -> View:
        if before is not None and self._has_seen_others_since(before):
            raise self.superseded(entry.epoch, instance)
        number = 1 if before is None else before.number + 1
        data = encode(entry)
        try:
            # An equal entry was created by this call, though the answer was lost.
            if not self.files.publish(_path(number), data) and self._content(number) != data:
                raise self.superseded(entry.epoch, instance)
        except FileNotFoundError as error:
            raise self.superseded(entry.epoch, instance) from error  # a reset has removed the log
        digest = zlib.crc32(data)
        # A number may also be free because the log was trimmed beyond it while this process was stopped.
        if not (self._is_first(digest) if before is None else self._is_there(before)):
            if self._content(number) == data:
                self.files.delete(_path(number))
            raise self.superseded(entry.epoch, instance)
        if before is None:
            assert entry.base is not None
            self._view = View(number, digest, entry.epoch, entry.base.start, entry.base.state)
        else:
            self._view = before.after(number, entry, digest)
        return self._view

    def _has_seen_others_since(self, before: View) -> bool:
        seen = self._view
        if seen is None or seen.digest == before.digest:
            return False
        return seen.number >= before.number or seen.start.instance != before.start.instance

    def _is_first(self, digest: int) -> bool:
        """Whether an entry with number 1 is the beginning of all that is there."""
        if all(number <= 1 for number in self._numbers()):
            return True
        second = self._content(2)
        return second is not None and decode(second, self._name(2)).before == digest

    def _is_there(self, view: View) -> bool:
        content = self._content(view.number)
        return content is not None and zlib.crc32(content) == view.digest

    def _read(self, newest: int) -> View:
        cached = self._view
        if cached is not None and cached.number <= newest and self._is_there(cached):
            return self._fold(cached, range(cached.number + 1, newest + 1))
        for number in range(newest, 0, -1):
            entry, digest = self._entry(number)
            if entry.base is not None and self._continues(number, entry):
                view = View(number, digest, entry.epoch, entry.base.start, entry.base.state)
                return self._fold(view, range(number + 1, newest + 1))
        message = f"{self.describe}: the state log has no entry with a whole state. {_ADVICE}"
        raise StateError(message)

    def _continues(self, number: int, entry: Entry) -> bool:
        """Whether the entry before, if it is still there, is the one that this entry was written after."""
        previous = self._content(number - 1)
        return previous is None or zlib.crc32(previous) == entry.before

    def _fold(self, view: View, numbers: range) -> View:
        for number in numbers:
            entry, digest = self._entry(number)
            if entry.before != view.digest:
                break
            view = view.after(number, entry, digest)
        return view

    def _entry(self, number: int) -> tuple[Entry, int]:
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
        """Deletes entries before a number, lowest first: one that is there has all later ones."""
        for number in sorted(self._numbers()):
            if number >= below:
                return
            self.files.delete(_path(number))


_ADVICE = "Restore the state directory from a copy, or start anew with `headrace reset`."


def _path(number: int) -> str:
    return f"{LOG}/{number:012d}"


def _digest(view: View | None) -> int:
    return 0 if view is None else view.digest


def _nonce() -> str:
    return os.urandom(8).hex()
