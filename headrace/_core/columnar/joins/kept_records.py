"""The stored records of one side of a stream-stream join, before and after a batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.columnar.groups import Ints
from headrace._core.columnar.joins.partners import Candidates, MatchFinder, Seekers
from headrace._core.columnar.joins.rows import ROWS_AT_ONCE, Bools, JoinRows, MatchesByRow, StreamSide
from headrace._core.laws import later_many
from headrace._core.operators.joins.stream_stream import StreamJoin
from headrace._state.layouts.growing_list import TimedValue
from headrace._state.layouts.retention_clocks import last_expired_ms
from headrace.model.time.end_of_time import END_OF_TIME_MS


class SideRecords:
    """The records of one side of a join, stored or in the batch, as matches for the other side's records in the batch.

    On the record path, a row finds the store as the rows before it have left it. So its matches must have arrived
    before it (`MatchFinder` checks that), and rows before it must not have expired them (`oldest`, for each row).

    Args:
        side: the side whose records are matched.
        rows: the records of the batch, of both sides.
        mine: which rows are records of this side that can be joined.
        others: which rows are records of the other side that can be joined.
        seeker: the operator of the other side, whose settings say how far apart matches may be.
    """

    def __init__(self, side: StreamSide, rows: JoinRows, mine: Bools, others: Bools, seeker: StreamJoin) -> None:
        self._side = side
        self._rows = rows
        settings, times = seeker.settings, rows.batch.timestamps
        # The store's clock before each row: every put of this side advances it.
        store_ms = np.maximum.accumulate(np.concatenate(([side.stored.time_ms], np.where(mine, times, -1))))[:-1]
        oldest = last_expired_ms(store_ms, side.stored.retention_ms) + 1
        self._to_store = np.flatnonzero(mine & (times >= oldest))
        seeking = np.flatnonzero(others)
        from_ms = np.maximum(np.maximum(later_many(times, -settings.before_ms), oldest), 0)[seeking]
        to_ms = np.maximum(later_many(times, settings.after_ms), 0)
        # A window that begins beyond the end of time has no match: cut off, it would begin at the last record.
        to_ms = np.where(times > END_OF_TIME_MS - max(-settings.before_ms, 0), -1, to_ms)[seeking]
        numbers, stored_times, raws = self._load(np.unique(rows.numbers[seeking]), from_ms, to_ms)
        self._raws = pa.concat_arrays([raws, rows.batch.values.take(pa.array(self._to_store))])
        candidates = Candidates(
            np.concatenate((numbers, rows.numbers[self._to_store])),
            np.concatenate((stored_times, times[self._to_store])),
            np.concatenate((np.arange(-len(numbers), 0), self._to_store)),
        )
        self._times = candidates.times
        self._finder = MatchFinder(candidates, Seekers(seeking, rows.numbers[seeking], from_ms, to_ms))

    def max_matches(self) -> npt.NDArray[np.intp]:
        """An upper bound of the number of matches of each row of the batch."""
        return self._finder.max_matches(len(self._rows.numbers))

    def matches(self, start: int, stop: int) -> MatchesByRow:
        """The matches of the rows from `start` to before `stop`. Rows without matches are left out."""
        rows, indices = self._finder.of_rows(start, stop)
        values = self._side.value_serde.deserialize_many(self._raws.take(pa.array(indices)).to_pylist())
        matches = list(zip(self._times[indices].tolist(), values, strict=True))
        distinct, starts = np.unique(rows, return_index=True)
        bounds = [*starts.tolist(), len(matches)]
        return {row: matches[first:end] for row, first, end in zip(distinct.tolist(), bounds, bounds[1:], strict=False)}

    def store(self) -> None:
        """Puts the rows of this side into its store, except those that have expired by the end of the batch."""
        if len(self._to_store):
            times, store = self._rows.batch.timestamps[self._to_store], self._side.stored
            latest_ms = int(times.max())
            alive = self._to_store[times > last_expired_ms(max(latest_ms, store.time_ms), store.retention_ms)]
            store.put_many(self._lists(alive), len(alive), latest_ms)

    def _lists(self, chosen: Ints) -> Iterator[tuple[bytes, list[TimedValue]]]:
        """Groups rows by key and by span of the store. Yields the key and the entries of each group, by arrival."""
        batch, numbers = self._rows.batch, self._rows.numbers[chosen]
        spans = batch.timestamps[chosen] // self._side.stored.span_ms
        order = np.lexsort((spans, numbers))
        ordered, numbers, spans = chosen[order], numbers[order], spans[order]
        changes = np.flatnonzero((np.diff(numbers) != 0) | (np.diff(spans) != 0))
        starts = np.concatenate(([0], changes + 1))[: len(ordered)]
        ends = np.append(starts[1:], len(ordered))
        for first in range(0, len(starts), ROWS_AT_ONCE):
            offset, bounds = int(starts[first]), slice(first, first + ROWS_AT_ONCE)
            rows = ordered[offset : int(ends[bounds][-1])]
            entries = list(
                zip(batch.timestamps[rows].tolist(), batch.values.take(pa.array(rows)).to_pylist(), strict=True)
            )
            keys = batch.keys.take(pa.array(ordered[starts[bounds]])).to_pylist()
            for key, start, end in zip(
                keys, (starts[bounds] - offset).tolist(), (ends[bounds] - offset).tolist(), strict=True
            ):
                yield key, entries[start:end]

    def _load(self, wanted: Ints, from_ms: Ints, to_ms: Ints) -> tuple[Ints, Ints, pa.Array]:
        """Reads the records that were stored before the batch under some keys: key numbers, timestamps, values.

        Records of the same key and timestamp are in the order of arrival.
        """
        numbers, times, raws = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [pa.array([], pa.binary())]
        for start in range(0, len(wanted), ROWS_AT_ONCE):
            part = wanted[start : start + ROWS_AT_ONCE]
            keys = self._rows.distinct.take(pa.array(part)).to_pylist()
            entries = list(self._side.stored.of_many(keys, int(from_ms.min()), int(to_ms.max())))
            if entries:
                key_indices, at_ms, values = zip(*entries, strict=True)
                numbers.append(part[np.array(key_indices)])
                times.append(np.array(at_ms, np.int64))
                raws.append(pa.array(values, pa.binary()))
        return np.concatenate(numbers), np.concatenate(times), pa.concat_arrays(raws)
