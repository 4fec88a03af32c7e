"""The names of output topics on Kafka that functions chose: one empty file for each, in the state directory.

A name is saved before the first record is written to the topic. So a later start knows every topic that may have
records of a transaction that was not completed.
"""

from __future__ import annotations

from pathlib import Path

from headrace._files import sync_directory
from headrace._state.log.files import explain_errors

DYNAMIC_TOPICS = "dynamic-topics"


class DynamicTopics:
    """The saved names of one application. Any number of processes may add names."""

    def __init__(self, state_dir: str) -> None:
        self._directory = Path(state_dir) / DYNAMIC_TOPICS

    def names(self) -> set[str]:
        return {path.name for path in self._directory.iterdir()} if self._directory.is_dir() else set()

    def add(self, topic: str) -> None:
        """Saves the name of a topic that a function chose, so that the name survives a power loss.

        Call this before the first record is written to the topic: a later start waits for undecided transactions only
        in topics that it knows. A name that exists is synced again, because another process may have created it just
        now.
        """
        path = self._directory / topic
        with explain_errors("write", path):
            self._directory.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.touch()
            sync_directory(self._directory)
            sync_directory(self._directory.parent)
