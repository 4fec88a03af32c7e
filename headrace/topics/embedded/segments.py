"""Data files: each is written once by one writer, never changed, and found through the commit log.

A file is a sequence of blobs, each an Arrow stream of one record batch whose place, size and checksum the log records.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.ipc

from headrace.errors import TopicError

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
RECORD_SCHEMA = pa.schema(
    [("key", pa.binary()), ("value", pa.binary()), ("timestamp", pa.int64()), ("headers", HEADERS)]
)
ORDER_SCHEMA = pa.schema(
    [
        ("order_ms", pa.int64()),
        ("source", pa.int32()),
        ("position", pa.int64()),
        ("hop", pa.int32()),
        ("seq", pa.int64()),
    ]
)

_WRITE_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Blob(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where one batch lies in its file; `size` is its length in memory, `length` the one on disk."""

    offset: int
    length: int
    rows: int
    size: int
    crc: int


class Run(msgspec.Struct, frozen=True, gc=False):
    """The records one writer wrote to one partition, in order; an `ordered` one carries the columns to merge it by."""

    topic: str
    partition: int
    rows: int
    file: str
    blobs: tuple[Blob, ...]
    ordered: bool = False


class Extent(msgspec.Struct, frozen=True, gc=False):
    """The records that one commit added to one partition, from offset `first` on; several runs are merged when read."""

    first: int
    runs: tuple[Run, ...]

    @property
    def end(self) -> int:
        """The offset after the last record."""
        return self.first + sum(run.rows for run in self.runs)


def encode_blob(batch: pa.RecordBatch, offset: int) -> tuple[Blob, pa.Buffer]:
    """The bytes of a batch, and the blob that describes them once they are written at an offset."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_WRITE_OPTIONS) as stream:
        stream.write_batch(batch)
    data = sink.getvalue()
    return Blob(offset, data.size, batch.num_rows, batch.nbytes, zlib.crc32(data)), data


def load_blob(segments: Path, run: Run, blob: Blob, columns: Sequence[str], offsets: tuple[int, int]) -> pa.RecordBatch:
    """The named columns of a blob; headers that were never written are null.

    `offsets` are the ones of the partition that become unreadable if the blob is, for the error to name.
    """
    data = _checked_bytes(segments / run.file, run, blob, offsets)
    stored = pa.ipc.open_stream(data).schema.names
    included = sorted(stored.index(name) for name in columns if name in stored)
    with pa.ipc.open_stream(data, options=pa.ipc.IpcReadOptions(included_fields=included)) as stream:
        batch = stream.read_next_batch()
    if "headers" in columns and "headers" not in stored:
        batch = batch.append_column("headers", pa.nulls(batch.num_rows, HEADERS))
    return batch.select(columns)


def _checked_bytes(path: Path, run: Run, blob: Blob, offsets: tuple[int, int]) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(blob.offset)
            data = file.read(blob.length)
    except OSError as error:
        raise _unreadable(path, run, offsets, error.strerror or str(error)) from error
    if len(data) < blob.length:
        found = f"{len(data)} of {blob.length} bytes are left at byte {blob.offset}"
        raise _unreadable(path, run, offsets, found)
    if zlib.crc32(data) != blob.crc:
        raise _unreadable(path, run, offsets, f"wrong checksum of {blob.length} bytes at byte {blob.offset}")
    return data


def _unreadable(path: Path, run: Run, offsets: tuple[int, int], reason: str) -> TopicError:
    start, end = offsets
    return TopicError(
        f"Topic {run.topic!r}, partition {run.partition}: the records at offsets {start} to {end - 1} cannot be read "
        f"from {str(path)!r}: {reason}. Restore the file from a backup, or read from offset {end} on; "
        "all other records are intact."
    )
