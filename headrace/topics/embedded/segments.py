"""Data files: each is written once by one writer and never changed; the commit log refers to it.

A file is a sequence of blobs. Each is an Arrow stream of one record batch; the log has its offset, size and checksum.
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

UNKNOWN_MS = (1 << 63) - 1
OFFSET = pa.field("offset", pa.int64())
_WRITE_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Blob(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where one batch is in its data file: at byte `offset`, with `length` bytes; `size` is in bytes in memory."""

    offset: int
    length: int
    rows: int
    size: int
    crc: int


class SegmentRun(msgspec.Struct, frozen=True, gc=False):
    """The records that one writer wrote to one partition, in order.

    If it is `ordered`, the records have the columns of `ORDER_SCHEMA`, by which several runs are merged. `size` is in
    bytes on disk, and `newest_ms` is the highest timestamp; runs of early versions have neither. If compaction has
    left gaps between the offsets, the records have a column `offset`, and `offsets` has the first one of each blob.
    """

    topic: str
    partition: int
    rows: int
    file: str
    blobs: tuple[Blob, ...]
    ordered: bool = False
    size: int = 0
    newest_ms: int = UNKNOWN_MS
    offsets: tuple[int, ...] = ()


class Extent(msgspec.Struct, frozen=True, gc=False):
    """The records of one commit at offsets `first` to `end`, exclusive, of a partition. Several runs must be merged."""

    first: int
    end: int
    runs: tuple[SegmentRun, ...]

    @property
    def has_gaps(self) -> bool:
        return any(run.offsets for run in self.runs)


def encode_blob(batch: pa.RecordBatch, offset: int) -> tuple[Blob, pa.Buffer]:
    """Encodes a batch to be written at an offset of the file; returns the blob that describes it, and the bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_WRITE_OPTIONS) as stream:
        stream.write_batch(batch)
    data = sink.getvalue()
    return Blob(offset, data.size, batch.num_rows, batch.nbytes, zlib.crc32(data)), data


def load_blob(
    segments: Path, run: SegmentRun, blob: Blob, columns: Sequence[str], offsets: tuple[int, int]
) -> pa.RecordBatch:
    """Reads some columns of a blob; headers that were never written are null.

    `offsets` is the range of the partition that an error reports as unreadable.
    """
    data = _read_bytes(segments / run.file, run, blob, offsets)
    stored = pa.ipc.open_stream(data).schema.names
    included = sorted(stored.index(name) for name in columns if name in stored)
    with pa.ipc.open_stream(data, options=pa.ipc.IpcReadOptions(included_fields=included)) as stream:
        batch = stream.read_next_batch()
    if "headers" in columns and "headers" not in stored:
        batch = batch.append_column("headers", pa.nulls(batch.num_rows, HEADERS))
    return batch.select(columns)


class MissingSegmentError(TopicError):
    """A data file is missing: it was consolidated after its records were looked up, or the directory is damaged."""

    def __init__(self, message: str, file: str) -> None:
        super().__init__(message)
        self.file = file


def _read_bytes(path: Path, run: SegmentRun, blob: Blob, offsets: tuple[int, int]) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(blob.offset)
            data = file.read(blob.length)
    except FileNotFoundError as error:
        raise MissingSegmentError(_unreadable(path, run, offsets, error.strerror or "missing"), run.file) from error
    except OSError as error:
        raise TopicError(_unreadable(path, run, offsets, error.strerror or str(error))) from error
    if len(data) < blob.length:
        reason = f"{len(data)} of {blob.length} bytes are left at byte {blob.offset}"
        raise TopicError(_unreadable(path, run, offsets, reason))
    if zlib.crc32(data) != blob.crc:
        reason = f"wrong checksum of {blob.length} bytes at byte {blob.offset}"
        raise TopicError(_unreadable(path, run, offsets, reason))
    return data


def _unreadable(path: Path, run: SegmentRun, offsets: tuple[int, int], reason: str) -> str:
    start, end = offsets
    return (
        f"Topic {run.topic!r}, partition {run.partition}: the records at offsets {start} to {end - 1} cannot be read "
        f"from {str(path)!r}: {reason}. Restore the file from a backup, or read from offset {end} on; "
        "all other records are intact."
    )
