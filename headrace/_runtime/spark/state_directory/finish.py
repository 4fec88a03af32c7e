"""A run that is to end after its current micro-batch: told to the planner of batches, who runs in another process."""

from __future__ import annotations

from pathlib import Path

from headrace._runtime.spark.state_directory.files import put_whole


class FinishFile:
    """The run that begins no further batch. Others, later ones too, do not mind it."""

    def __init__(self, state_dir: str | Path) -> None:
        self._path = Path(state_dir) / "finish"

    def ask(self, run: str) -> None:
        put_whole(self._path, run.encode())

    def asks(self, run: str) -> bool:
        try:
            return self._path.read_text() == run
        except FileNotFoundError:
            return False
