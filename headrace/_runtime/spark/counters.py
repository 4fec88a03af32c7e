"""An application's counters over all batches, kept beside its checkpoint."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headrace._core.metrics import Counts, total
from headrace._runtime.spark.files import put_whole


class _Saved(msgspec.Struct):
    batch: int
    counts: Counts


class CounterFile:
    """Adds each batch once, however often it is repeated."""

    def __init__(self, state_dir: str | Path) -> None:
        self._path = Path(state_dir) / "counters.json"

    def add(self, batch: int, counts: Counts) -> None:
        saved = self._read()
        if batch <= saved.batch:
            return
        put_whole(self._path, msgspec.json.encode(_Saved(batch, total([saved.counts, counts]))))

    def read(self) -> Counts:
        return self._read().counts

    def last_batch(self) -> int:
        """The newest batch counted, -1 before the first."""
        return self._read().batch

    def _read(self) -> _Saved:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Saved)
        except FileNotFoundError:
            return _Saved(-1, {})
