"""Writes one data file: buffers batches by topic and partition, and writes them as blobs of bounded size."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import pyarrow as pa

from headrace._files import make_directory, sync_directory
from headrace.errors import TopicError, known_names
from headrace.topics.batches import MAX_BYTES, MAX_ROWS, concatenate, copy_if_shared, max_batch_rows
from headrace.topics.embedded.files import os_errors
from headrace.topics.embedded.segments import OFFSET, ORDER_SCHEMA, RECORD_SCHEMA, Blob, SegmentRun, encode_blob

_MAX_PENDING_BYTES = 64 << 20
_NEVER_NULL = ("timestamp", *ORDER_SCHEMA.names)


class _OpenRun:
    """A run while it is written: the blobs on disk, and the batches buffered for the next one."""

    def __init__(self, *, ordered: bool) -> None:
        self.ordered = ordered
        self.blobs: list[Blob] = []
        self.buffered: list[pa.RecordBatch] = []
        self.rows = 0
        self.bytes = 0
        self.newest_ms = -(1 << 63)
        self.offsets: list[int] = []

    def take_buffered(self) -> pa.RecordBatch:
        batch = concatenate(self.buffered)
        self.newest_ms = max(self.newest_ms, int(batch.column("timestamp").to_numpy().max()))
        self.buffered, self.rows, self.bytes = [], 0, 0
        if OFFSET.name in batch.schema.names:
            self.offsets.append(batch.column(OFFSET.name)[0].as_py())
        headers = batch.column("headers")
        return batch.drop_columns("headers") if headers.null_count == len(headers) else batch


class SegmentWriter:
    """Writes batches to a new data file. Its records are invisible until its runs are committed.

    As a context manager it deletes the file if the body fails. The file's name begins with `owner`.
    """

    def __init__(self, segments: Path, owner: str = "") -> None:
        self._path = segments / f"{owner}{uuid.uuid4().hex}.arrow"
        self._file: BinaryIO | None = None
        self._written = 0
        self._pending_bytes = 0
        self._runs: dict[tuple[str, int, int], _OpenRun] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abort()

    def write(self, topic: str, partition: int, batch: pa.RecordBatch, number: int = 0) -> None:
        """Adds a batch to the end of a partition's run. A partition may have several runs, with different numbers.

        A batch has the columns of `RECORD_SCHEMA`, of which headers are optional, and all or none of `ORDER_SCHEMA`.
        If compaction has left gaps between its offsets, it also has a column `offset`, in ascending order.
        The rows of a run ascend by the order columns, except where a task flushed its record cache after other rows;
        merged with other runs, all rows ascend.
        """
        batch = _normalise(batch)
        ordered = ORDER_SCHEMA.names[0] in batch.schema.names
        run = self._runs.setdefault((topic, partition, number), _OpenRun(ordered=ordered))
        if run.ordered != ordered:
            message = (
                f"Topic {topic!r}, partition {partition}: either all batches of one writer have order columns, or none."
            )
            raise TopicError(message)
        for piece in _pieces(batch):
            if run.rows and (run.rows + piece.num_rows > MAX_ROWS or run.bytes + piece.nbytes > MAX_BYTES):
                self._flush(run)
            run.buffered.append(copy_if_shared(piece))
            run.rows += piece.num_rows
            run.bytes += piece.nbytes
            self._pending_bytes += piece.nbytes
        if self._pending_bytes >= _MAX_PENDING_BYTES:
            self._flush_all()

    def finish(self) -> list[SegmentRun]:
        """Makes the file durable, and returns its runs for the commit."""
        self._flush_all()
        if self._file is not None:
            with os_errors("write", self._path, self._written):
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                sync_directory(self._path.parent)
            self._file = None
        return [
            SegmentRun(
                topic,
                partition,
                sum(blob.rows for blob in run.blobs),
                self._path.name,
                tuple(run.blobs),
                run.ordered,
                sum(blob.length for blob in run.blobs),
                run.newest_ms,
                tuple(run.offsets),
            )
            for (topic, partition, _), run in sorted(self._runs.items())
            if run.blobs
        ]

    def abort(self) -> None:
        """Deletes the file unless it is finished. A finished one may be committed, so only the log may delete it."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._path.unlink(missing_ok=True)

    def _flush_all(self) -> None:
        for run in self._runs.values():
            if run.rows:
                self._flush(run)

    def _flush(self, run: _OpenRun) -> None:
        self._pending_bytes -= run.bytes
        blob, data = encode_blob(run.take_buffered(), self._written)
        with os_errors("write", self._path, blob.length):
            if self._file is None:
                make_directory(self._path.parent)
                self._file = self._path.open("xb")
            self._file.write(data)
        self._written += blob.length
        run.blobs.append(blob)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    step = max_batch_rows(batch.num_rows, batch.nbytes)
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def _normalise(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Converts a batch to exactly the columns and types that are stored.

    Raises:
        TopicError: if a column is missing or unknown, cannot be converted, or has a null that is not allowed.
    """
    names = set(batch.schema.names)
    ordered = not names.isdisjoint(ORDER_SCHEMA.names)
    schema = pa.schema([*RECORD_SCHEMA, *ORDER_SCHEMA]) if ordered else RECORD_SCHEMA
    schema = schema.append(OFFSET) if OFFSET.name in names else schema
    if not set(schema.names) - {"headers"} <= names <= set(schema.names):
        message = (
            f"A batch for a topic has the columns {known_names(names)}; it needs 'key', 'value', 'timestamp', may have "
            f"'headers', and has either none or all of {known_names(ORDER_SCHEMA.names)}."
        )
        raise TopicError(message)
    try:
        arrays = [_column(batch, field) for field in schema]
    except pa.ArrowException as error:
        types = ", ".join(f"{field.name}: {field.type}" for field in schema)
        message = f"A batch for a topic has columns of other types than {types}: {error}"
        raise TopicError(message) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(field.name)
    if column.null_count and field.name in _NEVER_NULL:
        message = f"A batch for a topic has {column.null_count} nulls in its column {field.name!r}, which allows none."
        raise TopicError(message)
    return column if column.type == field.type else column.cast(field.type)
