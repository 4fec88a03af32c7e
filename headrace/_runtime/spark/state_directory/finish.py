"""Asks a run to stop after its current micro-batch. Its batches are planned in another process, so this is a file."""

from __future__ import annotations

from pathlib import Path

from headrace._runtime.spark.state_directory.files import replace_file


class FinishFile:
    """The file with the id of the run that is to stop after its current batch. Other runs ignore it."""

    def __init__(self, state_dir: str | Path) -> None:
        self._path = Path(state_dir) / "finish"

    def request(self, run: str) -> None:
        replace_file(self._path, run.encode())

    def is_requested(self, run: str) -> bool:
        try:
            return self._path.read_text() == run
        except FileNotFoundError:
            return False
