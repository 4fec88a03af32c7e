"""The last delta of a task as a local file, so that the next batch need not fetch what this machine just wrote.

A file is named by its position, so one of an attempt that was never committed is not taken for another. Like the
replica it is a cache: a file that is missing or damaged is as good as none.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from headrace._state.position import Position

_SUFFIX = ".delta"


class Stash:
    """The stashed deltas in a directory; at most a few files, one in the usual case."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, position: Position, blob: bytes) -> None:
        with suppress(OSError):
            self._file(position).write_bytes(blob)

    def take(self, position: Position) -> bytes | None:
        try:
            return self._file(position).read_bytes()
        except OSError:
            return None

    def clear(self) -> None:
        with suppress(OSError):
            for file in self._directory.glob(f"*{_SUFFIX}"):
                file.unlink(missing_ok=True)

    def _file(self, position: Position) -> Path:
        return self._directory / f"{position.version}-{position.nonce.hex()}{_SUFFIX}"
