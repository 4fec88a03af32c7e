"""Starting from the beginning again: what an application keeps of its own is found, told, and deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headrace._runtime.spark.query import SCRATCH
from headrace._runtime.spark.starting import committed_view
from headrace._runtime.spark.state_directory.presence import LOCK_FILE, nobody_runs
from headrace._runtime.spark.topics.backend import TopicBackend, backend_of
from headrace._state.log.objects import OBJECTS
from headrace._state.log.state_log import DISCARDED_LOG, LOG
from headrace._state.replica.replica import replicas_of
from headrace.config import StreamsConfig

# What a run writes into its state directory; whatever else lies there is somebody's own.
_DIRECTORIES = (OBJECTS, SCRATCH)
_FILES = ("finish", "finish.*.new")
_OWN = (LOG, DISCARDED_LOG, *_DIRECTORIES, *_FILES, LOCK_FILE)


@dataclass(frozen=True)
class Reset:
    """What is there of an application besides its topics, as it was found."""

    config: StreamsConfig
    instance: str | None
    backend: TopicBackend
    found: tuple[str, ...]

    @property
    def foreign(self) -> list[str]:
        """What lies in the state directory and is not the application's; it stays there."""
        state_dir = self.config.state_dir
        if self.instance is None:
            return []
        own = {path for pattern in _OWN for path in state_dir.glob(pattern)}
        return sorted(path.name for path in state_dir.iterdir() if path not in own)

    def refuse_running(self) -> None:
        """Raises a `StateError` if the application runs."""
        if self.instance is not None:
            with nobody_runs(self.config.application_id, self.config.state_dir):
                pass

    def delete(self) -> None:
        """Deletes it. When that is cut short, the state log is left, and with it all that another try needs to know.

        Raises:
            StateError: if the application runs.
        """
        if self.instance is None:
            self.backend.forget(self.config.application_id, None)
            _empty(self.config.state_dir)
            return
        with nobody_runs(self.config.application_id, self.config.state_dir):
            self.backend.forget(self.config.application_id, self.instance)
            shutil.rmtree(replicas_of(self.instance, self.config.local_dir), ignore_errors=True)
            _empty(self.config.state_dir)


def find(config: StreamsConfig) -> Reset:
    """What is there of an application.

    Raises:
        StateError: if its state directory belongs to something else.
        TopicError: if its consumer group is used by something else.
    """
    view, backend = committed_view(config), backend_of(config)
    instance = None if view is None else view.start.instance
    found = [*_on_disk(config, instance), *backend.traces(config.application_id, instance)]
    return Reset(config, instance, backend, tuple(found))


def _on_disk(config: StreamsConfig, instance: str | None) -> Iterator[str]:
    if instance is None:
        if (config.state_dir / DISCARDED_LOG).exists():
            yield f"what a reset that was cut short left in {str(config.state_dir)!r}"
        return
    yield f"state directory {str(config.state_dir)!r}: offsets, stores, counters"
    copies = replicas_of(instance, config.local_dir)
    if copies.exists():
        yield f"copies of the stores on this machine: {str(copies)!r}"


def _empty(state_dir: Path) -> None:
    """Removes what a run has written, the state log last; then the directory, unless it has anything else in it."""
    for directory in _DIRECTORIES:
        shutil.rmtree(state_dir / directory, ignore_errors=True)
    for pattern in _FILES:
        for file in state_dir.glob(pattern):
            file.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        # In one step: half a log must not be taken for a whole one.
        (state_dir / LOG).rename(state_dir / DISCARDED_LOG)
    shutil.rmtree(state_dir / DISCARDED_LOG, ignore_errors=True)
    (state_dir / LOCK_FILE).unlink(missing_ok=True)
    with suppress(OSError):
        state_dir.rmdir()
