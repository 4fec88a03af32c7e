"""Starting from the beginning again: what an application keeps of its own is found, told, and deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headrace._runtime.spark import manifest as manifests
from headrace._runtime.spark.manifest import MANIFEST_FILE, Manifest
from headrace._runtime.spark.presence import LOCK_FILE, nobody_runs
from headrace._runtime.spark.topic_home import TopicHome, home_of
from headrace._state.replica import replicas_of
from headrace.config import StreamsConfig

# What a run writes into its state directory; whatever else lies there is somebody's own.
_CHECKPOINT, _DISCARDED = "checkpoint", "checkpoint.discarded"
_FILES = (
    "counters.json",
    "alarm.json",
    "finish",
    *(f"{name}.*.new" for name in ("counters", "alarm", "finish", "headrace")),
)
_OWN = (_CHECKPOINT, _DISCARDED, *_FILES, MANIFEST_FILE, LOCK_FILE)


@dataclass(frozen=True)
class Reset:
    """What is there of an application besides its topics, as it was found."""

    config: StreamsConfig
    manifest: Manifest | None
    home: TopicHome
    found: tuple[str, ...]

    @property
    def foreign(self) -> list[str]:
        """What lies in the state directory and is not the application's; it stays there."""
        state_dir = self.config.state_dir
        if self.manifest is None:
            return []
        own = {path for pattern in _OWN for path in state_dir.glob(pattern)}
        return sorted(path.name for path in state_dir.iterdir() if path not in own)

    def refuse_running(self) -> None:
        """Raises a `StateError` if the application runs."""
        if self.manifest is not None:
            with nobody_runs(self.config.application_id, self.config.state_dir):
                pass

    def delete(self) -> None:
        """Deletes it. When that is cut short, the manifest is left, and with it all that another try needs to know.

        Raises:
            StateError: if the application runs.
        """
        if self.manifest is None:
            self.home.forget(self.config.application_id, None)
            return
        with nobody_runs(self.config.application_id, self.config.state_dir):
            self.home.forget(self.config.application_id, self.manifest.instance)
            shutil.rmtree(replicas_of(self.manifest.instance, self.config.local_dir), ignore_errors=True)
            _empty(self.config.state_dir)


def find(config: StreamsConfig) -> Reset:
    """What is there of an application.

    Raises:
        StateError: if its state directory belongs to something else.
        TopicError: if its consumer group is used by something else.
    """
    manifest, home = manifests.load(config), home_of(config)
    instance = None if manifest is None else manifest.instance
    found = [*_on_disk(config, manifest), *home.traces(config.application_id, instance)]
    return Reset(config, manifest, home, tuple(found))


def _on_disk(config: StreamsConfig, manifest: Manifest | None) -> Iterator[str]:
    if manifest is None:
        return
    yield f"state directory {str(config.state_dir)!r}: checkpoint, stores, counters"
    copies = replicas_of(manifest.instance, config.local_dir)
    if copies.exists():
        yield f"copies of the stores on this machine: {str(copies)!r}"


def _empty(state_dir: Path) -> None:
    """Removes what a run has written, the manifest last; then the directory, unless it has anything else in it."""
    with suppress(FileNotFoundError):
        # In one step: half a checkpoint must not be taken for a whole one.
        (state_dir / _CHECKPOINT).rename(state_dir / _DISCARDED)
    shutil.rmtree(state_dir / _DISCARDED, ignore_errors=True)
    for pattern in _FILES:
        for file in state_dir.glob(pattern):
            file.unlink(missing_ok=True)
    (state_dir / MANIFEST_FILE).unlink(missing_ok=True)
    (state_dir / LOCK_FILE).unlink(missing_ok=True)
    with suppress(OSError):
        state_dir.rmdir()
