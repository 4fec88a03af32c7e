"""Serdes know the type of their values."""

from __future__ import annotations

from typing import Any, assert_type

from headrace import Change, Record, Window, Windowed, serdes
from headrace.serdes import Serde
from tests.typing.model import Sale

registry = serdes.Registry("mock://types")
assert_type(serdes.Json(Sale), serdes.Json[Sale])
assert_type(serdes.Avro("long"), serdes.Avro[Any])
assert_type(serdes.Avro({"type": "map", "values": "long"}, Sale, registry=registry), serdes.Avro[Sale])
assert_type(serdes.JsonSchema(Sale, registry=registry), serdes.JsonSchema[Sale])
assert_type(serdes.JsonSchema({"type": "object"}, Sale, registry=registry), serdes.JsonSchema[Sale])
assert_type(serdes.JsonSchema({"type": "object"}, registry=registry), serdes.JsonSchema[Any])
assert_type(serdes.Protobuf(Sale), serdes.Protobuf[Sale])
assert_type(serdes.WindowedKey(serdes.Long(), 10), serdes.WindowedKey[int])
assert_type(serdes.SessionWindowedKey(serdes.Long()).deserialize(b""), Windowed[int] | None)
assert_type(serdes.ChangeEvent(serdes.Long()).deserialize(b""), Change[int] | None)
assert_type(serdes.Long().serialize(1), bytes | None)
assert_type(serdes.Void().deserialize(None), None)


def price_of(data: bytes) -> int:
    return data[0]


def bytes_of(price: int) -> bytes:
    return bytes([price])


assert_type(serdes.serde_from(bytes_of, price_of), Serde[int])
windowed: Serde[Windowed[str]] = serdes.WindowedKey(serdes.String(), 10)
windowed.serialize(Windowed("a", Window(0, 10)))

record = Record("a", 1)
assert_type(record, Record[str, int])
assert_type(record.with_key(2), Record[int, int])
assert_type(record.with_value("x"), Record[str, str])
assert_type(record.with_headers({"a": b"", "b": None}), Record[str, int])
assert_type(record.with_timestamp(12).with_headers((("a", b""),)), Record[str, int])
wider: Record[str, int | None] = record
