"""Resets an application: finds and deletes what it has stored, so that it starts from the beginning again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headrace._runtime.spark.query import SCRATCH
from headrace._runtime.spark.starting import committed_view
from headrace._runtime.spark.state_directory.dynamic_topics import DYNAMIC_TOPICS
from headrace._runtime.spark.state_directory.presence import LOCK_FILE, exclusive_lock
from headrace._runtime.spark.state_directory.requests import FinishFile, PauseFile
from headrace._runtime.spark.topics.backend import TopicBackend, backend_of
from headrace._state.log.objects import OBJECTS
from headrace._state.log.state_log import DISCARDED_LOG, LOG
from headrace._state.replica.replica import replicas_of
from headrace.config import StreamsConfig

# What a run writes into its state directory. All other files there belong to someone else.
_DIRECTORIES = (OBJECTS, SCRATCH, DYNAMIC_TOPICS)
_FILES = tuple(pattern for file in (FinishFile, PauseFile) for pattern in (file.name, f"{file.name}.*.new"))
_OWN = (LOG, DISCARDED_LOG, *_DIRECTORIES, *_FILES, LOCK_FILE)


@dataclass(frozen=True)
class ApplicationData:
    """Everything an application has stored besides its topics; `descriptions` lists it for the user."""

    config: StreamsConfig
    instance: str | None
    backend: TopicBackend
    descriptions: tuple[str, ...]

    @property
    def foreign(self) -> list[str]:
        """Files in the state directory that do not belong to the application; a reset leaves them there."""
        state_dir = self.config.state_dir
        if self.instance is None:
            return []
        own = {path for pattern in _OWN for path in state_dir.glob(pattern)}
        return sorted(path.name for path in state_dir.iterdir() if path not in own)

    def refuse_running(self) -> None:
        """Raises a `StateError` if the application is running."""
        if self.instance is not None:
            with exclusive_lock(self.config.application_id, self.config.state_dir):
                pass

    def delete(self) -> None:
        """Deletes everything. An interrupted reset can be repeated, because the state log is deleted almost last.

        Only unpublished output is deleted after it. If that is interrupted, the remaining data files of embedded
        topics stay and only take space.

        Raises:
            StateError: if the application is running.
        """
        if self.instance is None:
            self.backend.forget(self.config.application_id, None)
            _empty(self.config.state_dir)
            return
        with exclusive_lock(self.config.application_id, self.config.state_dir):
            self.backend.forget(self.config.application_id, self.instance)
            shutil.rmtree(replicas_of(self.instance, self.config.local_dir), ignore_errors=True)
            _empty(self.config.state_dir)
            self.backend.delete_unpublished(self.config.application_id, self.instance)


def find(config: StreamsConfig) -> ApplicationData:
    """Finds everything an application has stored.

    Raises:
        StateError: if its state directory belongs to something else.
        TopicError: if its consumer group is used by something else.
    """
    view, backend = committed_view(config), backend_of(config)
    instance = None if view is None else view.start.instance
    descriptions = [*_describe_files(config, instance), *backend.traces(config.application_id, instance)]
    return ApplicationData(config, instance, backend, tuple(descriptions))


def _describe_files(config: StreamsConfig, instance: str | None) -> Iterator[str]:
    if instance is None:
        if (config.state_dir / DISCARDED_LOG).exists():
            yield f"the remains of an interrupted reset in {str(config.state_dir)!r}"
        return
    yield f"state directory {str(config.state_dir)!r}: offsets, stores, counters"
    copies = replicas_of(instance, config.local_dir)
    if copies.exists():
        yield f"copies of the stores on this machine: {str(copies)!r}"


def _empty(state_dir: Path) -> None:
    """Deletes what runs have written, the state log last; then the directory, if it is empty."""
    for directory in _DIRECTORIES:
        shutil.rmtree(state_dir / directory, ignore_errors=True)
    for pattern in _FILES:
        for file in state_dir.glob(pattern):
            file.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        # A rename is atomic: nobody must read a log of which a part is deleted.
        (state_dir / LOG).rename(state_dir / DISCARDED_LOG)
    shutil.rmtree(state_dir / DISCARDED_LOG, ignore_errors=True)
    (state_dir / LOCK_FILE).unlink(missing_ok=True)
    with suppress(OSError):
        state_dir.rmdir()
