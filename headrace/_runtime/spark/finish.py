"""A run that is to end after its current micro-batch: told to the planner of batches, who runs in another process."""

from __future__ import annotations

import os
from pathlib import Path


class FinishFile:
    """The run that begins no further batch. Others, later ones too, do not mind it."""

    def __init__(self, state_dir: str | Path) -> None:
        self._path = Path(state_dir) / "finish"

    def ask(self, run: str) -> None:
        replacement = self._path.with_suffix(f".{os.getpid()}.new")
        replacement.write_text(run)
        replacement.replace(self._path)

    def asks(self, run: str) -> bool:
        try:
            return self._path.read_text() == run
        except FileNotFoundError:
            return False
