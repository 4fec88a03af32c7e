"""Asks a run to stop or to pause after its current micro-batch: by files, since other processes plan the batches."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from headrace._runtime.spark.state_directory.files import replace_file


class _RunRequest:
    """A file that asks one run to do something. It holds the id of that run; other runs ignore it."""

    name: ClassVar[str]

    def __init__(self, state_dir: str | Path) -> None:
        self._path = Path(state_dir) / self.name

    def request(self, run: str) -> None:
        replace_file(self._path, run.encode())

    def withdraw(self, run: str) -> None:
        if self.is_requested(run):
            self._path.unlink(missing_ok=True)

    def is_requested(self, run: str) -> bool:
        try:
            return self._path.read_text() == run
        except FileNotFoundError:
            return False


class FinishFile(_RunRequest):
    """Asks the run to stop after its current batch."""

    name = "finish"


class PauseFile(_RunRequest):
    """Asks the run to begin no batch until the request is withdrawn."""

    name = "pause"
