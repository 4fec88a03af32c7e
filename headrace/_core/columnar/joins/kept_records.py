"""What one side of a join of streams keeps, for a whole batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.columnar.groups import Ints
from headrace._core.columnar.joins.partners import Candidates, Partners, Seekers
from headrace._core.columnar.joins.rows import FEW, Bools, JoinRows, Met, StreamSide
from headrace._core.operators.joins.stream_stream import StreamJoin
from headrace._state.layouts.growing_list import Entry


class KeptRecords:
    """What one side has kept, and keeps of its rows in the batch, with who of the other side meets it."""

    def __init__(self, side: StreamSide, rows: JoinRows, mine: Bools, others: Bools, seeker: StreamJoin) -> None:
        self._side = side
        self._rows = rows
        settings, times = seeker.settings, rows.batch.timestamps
        # The clock of the store before each row, as the puts of this side move it.
        reached = np.maximum.accumulate(np.concatenate(([side.kept.time_ms], np.where(mine, times, -1))))[:-1]
        oldest = reached - side.kept.retention_ms + 1
        self._stored = np.flatnonzero(mine & (times >= oldest))
        seeking = np.flatnonzero(others)
        from_ms = np.maximum(np.maximum(times - settings.before_ms, oldest), 0)[seeking]
        to_ms = np.maximum(times + settings.after_ms, 0)[seeking]
        numbers, found_times, raws = self._found(np.unique(rows.numbers[seeking]), from_ms, to_ms)
        self._raws = pa.concat_arrays([raws, rows.batch.values.take(pa.array(self._stored))])
        kept = Candidates(
            np.concatenate((numbers, rows.numbers[self._stored])),
            np.concatenate((found_times, times[self._stored])),
            np.concatenate((np.arange(-len(numbers), 0), self._stored)),
        )
        self._times = kept.times
        self._partners = Partners(kept, Seekers(seeking, rows.numbers[seeking], from_ms, to_ms))

    def most_by_row(self) -> npt.NDArray[np.intp]:
        """How many of these records each row meets at most."""
        return self._partners.most_by_row(len(self._rows.numbers))

    def met(self, start: int, stop: int) -> Met:
        """Those that the rows from one to before another meet."""
        rows, places = self._partners.of_rows(start, stop)
        values = self._side.value_serde.deserialize_many(self._raws.take(pa.array(places)).to_pylist())
        partners = list(zip(self._times[places].tolist(), values, strict=True))
        distinct, starts = np.unique(rows, return_index=True)
        bounds = [*starts.tolist(), len(partners)]
        return {
            row: partners[first:end] for row, first, end in zip(distinct.tolist(), bounds, bounds[1:], strict=False)
        }

    def keep(self) -> None:
        """Puts the rows of this side into its store, without those that have expired by the end of the batch."""
        if len(self._stored):
            times, kept = self._rows.batch.timestamps[self._stored], self._side.kept
            latest_ms = int(times.max())
            alive = self._stored[times > max(latest_ms, kept.time_ms) - kept.retention_ms]
            kept.put_many(self._lists(alive), len(alive), latest_ms)

    def _lists(self, chosen: Ints) -> Iterator[tuple[bytes, list[Entry]]]:
        """Rows by key and span, in the order they came."""
        batch, numbers = self._rows.batch, self._rows.numbers[chosen]
        spans = batch.timestamps[chosen] // self._side.kept.span_ms
        order = np.lexsort((spans, numbers))
        ordered, numbers, spans = chosen[order], numbers[order], spans[order]
        changes = np.flatnonzero((np.diff(numbers) != 0) | (np.diff(spans) != 0))
        starts = np.concatenate(([0], changes + 1))[: len(ordered)]
        ends = np.append(starts[1:], len(ordered))
        for first in range(0, len(starts), FEW):
            offset, bounds = int(starts[first]), slice(first, first + FEW)
            rows = ordered[offset : int(ends[bounds][-1])]
            entries = list(
                zip(batch.timestamps[rows].tolist(), batch.values.take(pa.array(rows)).to_pylist(), strict=True)
            )
            keys = batch.keys.take(pa.array(ordered[starts[bounds]])).to_pylist()
            for key, start, end in zip(
                keys, (starts[bounds] - offset).tolist(), (ends[bounds] - offset).tolist(), strict=True
            ):
                yield key, entries[start:end]

    def _found(self, wanted: Ints, from_ms: Ints, to_ms: Ints) -> tuple[Ints, Ints, pa.Array]:
        """Records of these keys from before the batch, in the order they came: key numbers, timestamps, values."""
        numbers, times, raws = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [pa.array([], pa.binary())]
        for start in range(0, len(wanted), FEW):
            part = wanted[start : start + FEW]
            keys = self._rows.distinct.take(pa.array(part)).to_pylist()
            entries = list(self._side.kept.of_many(keys, int(from_ms.min()), int(to_ms.max())))
            if entries:
                places, at_ms, values = zip(*entries, strict=True)
                numbers.append(part[np.array(places)])
                times.append(np.array(at_ms, np.int64))
                raws.append(pa.array(values, pa.binary()))
        return np.concatenate(numbers), np.concatenate(times), pa.concat_arrays(raws)
