"""Frames: many records in one row of Spark, so that a shuffle costs per frame and not per record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from headrace._core.task.chunk import RecordColumns
from headrace._core.task.order import Ints, Order
from headrace.model.record import Headers
from headrace.topics.embedded.log import RECORD_SCHEMA

# Destinations that are not stages: the sink for output, and the commit for the others.
TO_SINK = -1
METRICS = -2
ALARM = -3
STATE = -4
BATCH = -5
# The channel of a frame that holds a tick instead of records.
TICK = -1
# The channel of a frame for a topic that a function chose; its payload names the topic.
DYNAMIC = -2
# The hop of frames from ingest, which come before those of any stage.
INGEST = -1

SCHEMA = pa.schema(
    [
        ("stage", pa.int32()),
        ("target", pa.int32()),
        ("hop", pa.int32()),
        ("origin", pa.int32()),
        ("seq", pa.int64()),
        ("channel", pa.int32()),
        ("payload", pa.binary()),
    ]
)
DDL = "stage int, target int, hop int, origin int, seq long, channel int, payload binary"

_SEQ_BITS = 40
_ORDER_FIELDS = [pa.field("time_ms", pa.int64()), pa.field("source", pa.int32()), pa.field("offset", pa.int64())]
_BARE = pa.schema([field for field in RECORD_SCHEMA if field.name != "headers"] + _ORDER_FIELDS)
_FULL = pa.schema([*RECORD_SCHEMA, *_ORDER_FIELDS])
_TOPIC = b"topic"
_WRITE = pa.ipc.IpcWriteOptions(compression="lz4")


class Frame(NamedTuple):
    """One row between stages.

    Attributes:
        stage: the destination: index of a stage, `TO_SINK`, or for the commit `METRICS`, `ALARM`, `STATE` or `BATCH`.
        target: the route of a task in that stage; for `TO_SINK` a partition of the topic.
        hop: the index of the stage that wrote the frame, or `INGEST`.
        origin: the task of that stage; the rank of a topic-partition if records were processed during ingest.
        seq: how many records that task wrote before.
        channel: the index of the topic, `DYNAMIC`, or `TICK`.
        payload: the encoded records, or JSON.
    """

    stage: int
    target: int
    hop: int
    origin: int
    seq: int
    channel: int
    payload: bytes


def for_commit(kind: int, content: object) -> Frame:
    """A frame that carries `content` to the commit; `kind` is `METRICS`, `ALARM`, `STATE` or `BATCH`."""
    return Frame(kind, target=0, hop=0, origin=0, seq=0, channel=0, payload=msgspec.json.encode(content))


class Tick(msgspec.Struct, frozen=True):
    """Tells the tasks of a batch its wall-clock time, and the id of the run that planned the batch."""

    clock_ms: int
    run: str


def to_rows(frames: list[Frame]) -> pa.RecordBatch:
    columns = zip(*frames, strict=True) if frames else ([] for _ in SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def from_rows(batch: pa.RecordBatch) -> Iterator[Frame]:
    columns = [batch.column(name).to_pylist() for name in Frame._fields]
    return map(Frame._make, zip(*columns, strict=True))


def encode(records: pa.RecordBatch, order: Order, topic: str | None = None) -> bytes:
    """Encodes records, in the columns of a topic, and their order as a payload.

    `topic` is the name to include if a function chose the topic (see `DYNAMIC`).
    """
    headers = records.column("headers") if "headers" in records.schema.names else None
    with_headers = headers is not None and headers.null_count < len(headers)
    schema = _FULL if with_headers else _BARE
    arrays = [
        *(records.column(field.name) for field in RECORD_SCHEMA if with_headers or field.name != "headers"),
        *(pa.array(column) for column in order),
    ]
    if topic is not None:
        schema = schema.with_metadata({_TOPIC: topic.encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=_WRITE) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


def decode(payload: bytes) -> pa.RecordBatch:
    return pa.ipc.open_stream(payload).read_next_batch()


def topic_of(frame: Frame, topics: Sequence[str]) -> str:
    """The topic of a frame's records; `topics` are those of the plan."""
    if frame.channel != DYNAMIC:
        return topics[frame.channel]
    name: bytes = pa.ipc.open_stream(frame.payload).schema.metadata[_TOPIC]
    return name.decode()


def decode_order(payload: bytes) -> tuple[Order, Ints]:
    """Decodes only the order and the timestamps of a payload's records."""
    names = pa.ipc.open_stream(payload).schema.names
    wanted = [names.index(name) for name in ("timestamp", *Order._fields)]
    batch = pa.ipc.open_stream(payload, options=pa.ipc.IpcReadOptions(included_fields=wanted)).read_next_batch()
    return order_of(batch), batch.column("timestamp").to_numpy()


def order_of(batch: pa.RecordBatch) -> Order:
    return Order(*(batch.column(field.name).to_numpy() for field in _ORDER_FIELDS))


def to_columns(batch: pa.RecordBatch) -> RecordColumns:
    headers = batch.column("headers").to_pylist() if "headers" in batch.schema.names else None
    return RecordColumns(
        batch.column("key").to_pylist(),
        batch.column("value").to_pylist(),
        batch.column("timestamp").to_pylist(),
        None if headers is None else [_as_headers(entry) for entry in headers],
    )


def from_columns(
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    timestamps: Sequence[int],
    headers: Sequence[Headers] | None,
) -> pa.RecordBatch:
    arrays = [pa.array(keys, pa.binary()), pa.array(values, pa.binary()), pa.array(timestamps, pa.int64())]
    if headers is None:
        return pa.RecordBatch.from_arrays(arrays, names=["key", "value", "timestamp"])
    listed = [[{"key": key, "value": value} for key, value in entry] or None for entry in headers]
    arrays.append(pa.array(listed, RECORD_SCHEMA.field("headers").type))
    return pa.RecordBatch.from_arrays(arrays, names=["key", "value", "timestamp", "headers"])


def with_log_order(batch: pa.RecordBatch, hop: int, origin: int, seq: int) -> pa.RecordBatch:
    """The records of an output frame with the columns by which topics sort them: the input record, then the writer."""
    count = batch.num_rows
    columns: dict[str, Any] = {
        field.name: batch.column(field.name) for field in RECORD_SCHEMA if field.name in batch.schema.names
    }
    order = order_of(batch)
    first = (origin << _SEQ_BITS) + seq
    columns |= {
        "order_ms": pa.array(order.time_ms),
        "source": pa.array(order.source),
        "position": pa.array(order.offset),
        "hop": pa.array(np.full(count, hop, np.int32)),
        "seq": pa.array(np.arange(first, first + count, dtype=np.int64)),
    }
    return pa.RecordBatch.from_pydict(columns)


def origin_of(seq: int) -> int:
    """The task that wrote a record, given the value that `with_log_order` put into its column `seq`."""
    return seq >> _SEQ_BITS


def _as_headers(entry: list[dict[str, Any]] | None) -> Headers:
    return tuple((header["key"], header["value"]) for header in entry) if entry else ()
