"""The commit log of a topics directory, and the catalog: the contents of the log in memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace._files import make_directory
from headrace.errors import TopicError
from headrace.topics.embedded import snapshot
from headrace.topics.embedded.catalog import Catalog
from headrace.topics.embedded.commit_log.entries import TopicCommit, decode_summary, encode
from headrace.topics.embedded.commit_log.journal import Journal, LogPosition, NewCommits
from headrace.topics.embedded.files import os_errors


class LogState:
    """The commit log, the catalog as of the last `refresh`, and the data files; the first use refreshes automatically.

    Hold `mutex` while you read the catalog, and `writing` while you append.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = _check_directory(directory)
        self.segments = self.directory / "segments"
        self.journal = Journal(self.directory)
        self.catalog = Catalog()
        self.mutex = threading.RLock()
        self._is_loaded = False
        self._synced = LogPosition()

    def refresh(self) -> None:
        """Reads the commits since the last refresh."""
        with self.mutex:
            self._apply(self.journal.read(self.catalog.position))

    def has_grown(self) -> bool:
        """Whether there may be commits since the last refresh."""
        return self.journal.has_changed(self.catalog.position)

    def current(self) -> Catalog:
        """Returns the catalog; the first call reads the commit log."""
        if not self._is_loaded:
            self.refresh()
        return self.catalog

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Locks the log against other threads and processes, and brings the catalog up to date."""
        with self.mutex, self.journal.exclusive():
            self.recover()
            yield

    def recover(self) -> None:
        """Reads the commits since the last refresh, and removes one that its writer did not complete."""
        self._apply(self.journal.recover(self.catalog.position))

    def append(self, commit: TopicCommit) -> None:
        """Appends a commit, durably, and adds it to the catalog."""
        payload, position = encode(commit), self.catalog.position
        if not position.offset:
            # The first append syncs the names in the topics directory.
            with os_errors("create", self.segments):
                make_directory(self.segments)
        self._apply(NewCommits([], [(position.offset, payload)], self.journal.append(position, payload)))
        self._synced = self.catalog.position

    def sync(self) -> None:
        """Syncs all commits that were read so far: a process that wrote some may have died before it did so itself.

        Call this before anything that a power loss does not undo depends on these commits.
        """
        with self.mutex:
            position = self.catalog.position
            if position != self._synced:
                self.journal.sync()
                self._synced = position

    def read_entries(self, offsets: Iterable[int]) -> list[bytes]:
        """Reads the encoded commits at these byte offsets of the commit log."""
        return self.journal.read_at(self.catalog.position.generation, offsets)

    def remove_unread(self, files: Iterable[str]) -> list[str]:
        """Deletes those of `files` that the catalog does not read, and returns their names, sorted.

        Call it within `writing`: an older catalog would not know the files that were committed since. Committed files
        stay, because a caller may repeat a commit without knowing whether it succeeded. The log is synced before files
        are deleted that it has superseded. Missing files are ignored.
        """
        removed = sorted(set(files) - self.catalog.files)
        if not self.catalog.superseded.isdisjoint(removed):
            self.sync()
        for file in removed:
            with os_errors("remove", self.segments / file):
                (self.segments / file).unlink(missing_ok=True)
        return removed

    def _apply(self, tail: NewCommits) -> None:
        generation = tail.end.generation
        if generation != self.catalog.position.generation:
            self.catalog = snapshot.restore(tail.snapshot, self.directory)
        for offset, payload in tail.entries:
            self.catalog.position = LogPosition(generation, offset)
            self.catalog.add(decode_summary(payload, self.directory), offset)
        self.catalog.position = tail.end
        self._is_loaded = True


def _check_directory(directory: str | os.PathLike[str]) -> Path:
    path = Path(directory).absolute()
    if "://" in os.fspath(directory):
        message = f"{os.fspath(directory)!r} is not a local directory; embedded topics need one."
        raise TopicError(message)
    if path.exists() and not path.is_dir():
        message = f"{str(path)!r} is a file, not a topics directory; pass a directory, which need not exist yet."
        raise TopicError(message)
    return path
