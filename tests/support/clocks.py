"""A wall clock that a test controls."""

from __future__ import annotations

from pathlib import Path


class FileClock:
    """Reads milliseconds from a file, so that all processes see the same time."""

    def __init__(self, path):
        self._path = Path(path)
        self.set(0)

    def __call__(self):
        return int(self._path.read_text())

    def set(self, milliseconds):
        replacement = self._path.with_suffix(".new")
        replacement.write_text(str(milliseconds))
        replacement.replace(self._path)

    def advance(self, milliseconds):
        self.set(self() + milliseconds)
