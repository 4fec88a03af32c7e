"""Joins of streams for a whole batch of both sides: partners are found and records kept all at once, met one by one.

Columns stay columns, and become lists of Python objects only a few rows at a time: Python's collector goes through all
lists there are again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace._core.columnar.batch import Batch, headers_of
from headrace._core.columnar.failing import RowError
from headrace._core.columnar.groups import Ints
from headrace._core.columnar.partners import Kept, Partners, Seekers
from headrace._core.operators.stream_join import StreamJoin
from headrace._core.operators.stream_outer_join import StreamOuterJoin
from headrace._state.listed import ListsBySpan
from headrace.errors import SerdeError
from headrace.record import Record
from headrace.serdes import Json, Serde

_ROWS = 2_000
_PAIRS = 10_000
_JSON_NULL = r"^[ \t\r\n]*null[ \t\r\n]*$"

_Bools = npt.NDArray[np.bool_]
_Met = dict[int, list[tuple[int, Any]]]  # timestamps and values of partners, by row


class JoinSide(NamedTuple):
    """One side: what joins its records, where it keeps them, and the serde of their values."""

    operator: StreamJoin
    kept: ListsBySpan
    value_serde: Serde[Any]


class StreamJoinForm:
    """Both sides of a join where all keys share one clock. What follows it gets its results record by record.

    `sides` tells of each topic whether its records are of the left side.
    """

    def __init__(self, left: JoinSide, right: JoinSide, key_serde: Serde[Any], sides: Mapping[str, bool]) -> None:
        self.sides = sides
        self._left = left
        self._right = right
        self._key_serde = key_serde

    def __call__(self, batch: Batch, is_left: _Bools) -> None:
        left, right = self._left, self._right
        rows = _Rows(batch, is_left, left, right, self._key_serde)
        lefts, rights = rows.present & is_left, rows.present & ~is_left
        kept_left = _KeptRecords(left, rows, lefts, rights, right.operator)
        kept_right = _KeptRecords(right, rows, rights, lefts, left.operator)
        waits = isinstance(left.operator, StreamOuterJoin)
        for start, stop in _parts(kept_left.most_by_row() + kept_right.most_by_row()):
            met = kept_left.met(start, stop) | kept_right.met(start, stop)
            # Where none waits, nothing happens to a record that meets none.
            rows.meet(range(start, stop) if waits else sorted(met), met)
        if not waits:
            rows.pass_by()
        kept_left.keep()
        kept_right.keep()


class _Rows:
    """The records of a batch. Keys go by number, -1 for none; `present` have a key and a value."""

    def __init__(self, batch: Batch, is_left: _Bools, left: JoinSide, right: JoinSide, key_serde: Serde[Any]) -> None:
        self.batch = batch
        self._key_serde = key_serde
        self._is_left = is_left
        self._both = (left, right)
        encoded = batch.keys.dictionary_encode()
        self.distinct: pa.Array = encoded.dictionary
        if not key_serde.accepts_all(self.distinct):
            message = f"{key_serde!r} cannot deserialize a key of the batch."
            raise SerdeError(message)
        self.numbers: Ints = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
        self.present: _Bools = self.numbers >= 0
        for side, mine in zip(self._both, (is_left, ~is_left), strict=True):
            self.present &= ~(mine & _reads_none(side.value_serde, batch.values))
        self._read = np.zeros(len(is_left), np.bool_)

    def meet(self, chosen: Sequence[int], met: _Met) -> None:
        """What the record path does with records whose partners are known."""
        rows, batch, context = np.array(chosen, np.int64), self.batch, self._both[0].operator.context
        self._read[rows] = True
        keys = self._key_serde.deserialize_many(batch.keys.take(pa.array(rows)).to_pylist())
        records = zip(
            chosen,
            self._values(rows),
            keys,
            batch.timestamps[rows].tolist(),
            headers_of(batch, rows),
            batch.positions[rows].tolist(),
            strict=True,
        )
        for row, (operator, value), key, timestamp_ms, headers, position in records:
            context.position = position
            try:
                operator.meet(Record(key, value, timestamp_ms, headers), met.get(row, ()))
            except Exception as error:
                raise RowError(error, position, key, timestamp_ms) from error

    def _values(self, rows: Ints) -> list[tuple[StreamJoin, Any]]:
        """What joins each row, and its value."""
        left, right = self._both
        raws, is_left = self.batch.values.take(pa.array(rows)), self._is_left[rows]
        lefts, rights = (
            iter(side.value_serde.deserialize_many(raws.filter(pa.array(mine)).to_pylist()))
            for side, mine in ((left, is_left), (right, ~is_left))
        )
        return [
            (left.operator, next(lefts)) if of_left else (right.operator, next(rights)) for of_left in is_left.tolist()
        ]

    def pass_by(self) -> None:
        """Counts the records that have no key or no value; of those that met none, makes sure that they can be read."""
        for (operator, _, value_serde), mine in zip(self._both, (self._is_left, ~self._is_left), strict=True):
            keyless = mine & (self.numbers < 0)
            operator.context.drop(operator.name, "null key", int(np.count_nonzero(keyless)))
            operator.context.drop(operator.name, "null value", int(np.count_nonzero(mine & ~keyless & ~self.present)))
            unread = self.batch.values.filter(pa.array(mine & ~self._read))
            for start in range(0, len(unread), _ROWS):
                value_serde.deserialize_many(unread.slice(start, _ROWS).to_pylist())


class _KeptRecords:
    """What one side has kept, and keeps of its rows in the batch, with who of the other side meets it."""

    def __init__(self, side: JoinSide, rows: _Rows, mine: _Bools, others: _Bools, seeker: StreamJoin) -> None:
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
        kept = Kept(
            np.concatenate((numbers, rows.numbers[self._stored])),
            np.concatenate((found_times, times[self._stored])),
            np.concatenate((np.arange(-len(numbers), 0), self._stored)),
        )
        self._times = kept.times
        self._partners = Partners(kept, Seekers(seeking, rows.numbers[seeking], from_ms, to_ms))

    def most_by_row(self) -> npt.NDArray[np.intp]:
        """How many of these records each row meets at most."""
        return self._partners.most_by_row(len(self._rows.numbers))

    def met(self, start: int, stop: int) -> _Met:
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
        """Puts the rows of this side into its store."""
        if len(self._stored):
            latest_ms = int(self._rows.batch.timestamps[self._stored].max())
            self._side.kept.put_many(self._lists(), len(self._stored), latest_ms)

    def _lists(self) -> Iterator[tuple[bytes, list[tuple[int, bytes]]]]:
        """The rows to be kept, by key and span, in the order they came."""
        batch, numbers = self._rows.batch, self._rows.numbers[self._stored]
        spans = batch.timestamps[self._stored] // self._side.kept.span_ms
        order = np.lexsort((spans, numbers))
        ordered, numbers, spans = self._stored[order], numbers[order], spans[order]
        starts = np.flatnonzero(np.concatenate(([True], (np.diff(numbers) != 0) | (np.diff(spans) != 0))))
        ends = np.append(starts[1:], len(ordered))
        for first in range(0, len(starts), _ROWS):
            offset, bounds = int(starts[first]), slice(first, first + _ROWS)
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
        for start in range(0, len(wanted), _ROWS):
            part = wanted[start : start + _ROWS]
            keys = self._rows.distinct.take(pa.array(part)).to_pylist()
            entries = list(self._side.kept.of_many(keys, int(from_ms.min()), int(to_ms.max())))
            if entries:
                places, at_ms, values = zip(*entries, strict=True)
                numbers.append(part[np.array(places)])
                times.append(np.array(at_ms, np.int64))
                raws.append(pa.array(values, pa.binary()))
        return np.concatenate(numbers), np.concatenate(times), pa.concat_arrays(raws)


def _parts(counts: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Bounds of parts of some rows with a bounded sum, of one row at least."""
    reached = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = int(reached[start - 1]) if start else 0
        bounded = int(np.searchsorted(reached, done + _PAIRS, "right"))
        stop = min(max(bounded, start + 1), start + _ROWS, len(counts))
        yield start, stop
        start = stop


def _reads_none(serde: Serde[Any], raws: pa.Array) -> _Bools:
    """Which values are `None`: those that are null, and in JSON those that say so."""
    nulls = raws.is_null()
    if isinstance(serde, Json):
        nulls = pc.or_(nulls, pc.match_substring_regex(raws, _JSON_NULL).fill_null(True))
    found: _Bools = nulls.to_numpy(zero_copy_only=False)
    return found
