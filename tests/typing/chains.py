"""Checked by mypy in test_inferred_types: what chained calls are inferred to be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from headrace import (
    CogroupedKStream,
    FixedKeyProcessor,
    GlobalKTable,
    JoinWindows,
    KGroupedStream,
    KStream,
    KTable,
    Processor,
    Record,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Windowed,
    serdes,
)


def length(key: str, value: str) -> int:
    return len(value)


def swapped(key: str, value: int) -> tuple[int, str]:
    return value, key


def total(key: str, value: int, aggregate: float) -> float:
    return aggregate + value


def total_length(key: str, value: str, aggregate: float) -> float:
    return aggregate + len(value)


def summed(key: str, left: float, right: float) -> float:
    return left + right


@dataclass
class Sale:
    cents: int


registry = serdes.Registry("mock://types")
assert_type(serdes.Json(Sale), serdes.Json[Sale])
assert_type(serdes.Avro("long"), serdes.Avro[Any])
assert_type(serdes.Avro({"type": "map", "values": "long"}, Sale, registry=registry), serdes.Avro[Sale])
assert_type(serdes.JsonSchema(Sale, registry=registry), serdes.JsonSchema[Sale])
assert_type(serdes.JsonSchema({"type": "object"}, Sale, registry=registry), serdes.JsonSchema[Sale])
assert_type(serdes.JsonSchema({"type": "object"}, registry=registry), serdes.JsonSchema[Any])
assert_type(serdes.Protobuf(Sale), serdes.Protobuf[Sale])

words: KStream[str, str] = StreamsBuilder().stream("in")
lengths = words.map_values_with_key(length)
assert_type(lengths, KStream[str, int])
assert_type(lengths.map(swapped), KStream[int, str])
assert_type(words.filter(lambda key, value: key < value), KStream[str, str])
assert_type(words.group_by(length), KGroupedStream[int, str])
assert_type(words.group_by_key().count(), KTable[str, int])
assert_type(lengths.group_by_key().aggregate(float, total), KTable[str, float])
assert_type(words.group_by_key().count().to_stream(), KStream[str, int])
assert_type(words.split().branch(lambda key, value: True).no_default(), dict[str, KStream[str, str]])

both = lengths.group_by_key().cogroup(total).cogroup(words.group_by_key(), total_length)
assert_type(both, CogroupedKStream[str, float])
assert_type(both.aggregate(float), KTable[str, float])
minutes, sessions = TimeWindows.of(timedelta(minutes=1)), SessionWindows.of(timedelta(minutes=1))
assert_type(both.windowed_by(minutes).aggregate(float), KTable[Windowed[str], float])
assert_type(both.windowed_by(sessions).aggregate(float, summed), KTable[Windowed[str], float])


class Passing(Processor):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


class Shouting(FixedKeyProcessor):
    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record.with_value(record.value.upper()))


assert_type(words.process(Passing), KStream[Any, Any])
assert_type(words.process_values(Shouting), KStream[str, Any])

builder = StreamsBuilder()
assert_type(builder.stream("t"), KStream[str, Any])
assert_type(builder.stream("t", value_serde=serdes.Json(Sale)), KStream[str, Sale])
assert_type(builder.stream(["t", "u"], key_serde=serdes.Long(), name="both"), KStream[int, Any])
assert_type(builder.table("t", key_serde=serdes.Long(), value_serde=serdes.String(), store="rows"), KTable[int, str])
assert_type(builder.table("t", value_serde=serdes.Json(Sale)), KTable[str, Sale])
assert_type(builder.global_table("t", value_serde=serdes.Json(Sale)), GlobalKTable[str, Sale])


@dataclass
class Customer:
    name: str


def named(sale: Sale, customer: Customer) -> str:
    return f"{customer.name}: {sale.cents}"


def perhaps_named(sale: Sale, customer: Customer | None) -> str:
    return str(sale.cents) if customer is None else customer.name


def either(sale: Sale | None, other: Sale | None) -> int:
    return (0 if sale is None else sale.cents) + (0 if other is None else other.cents)


def same(sale: Sale, other: Sale) -> bool:
    return sale == other


sales = builder.stream("sales", value_serde=serdes.Json(Sale))
sale_rows = builder.table("sale rows", value_serde=serdes.Json(Sale))
customers = builder.table("customers", value_serde=serdes.Json(Customer))
numbered = builder.table("numbered", key_serde=serdes.Long(), value_serde=serdes.Json(Customer))
everywhere = builder.global_table("everywhere", key_serde=serdes.Long(), value_serde=serdes.Json(Customer))
within = JoinWindows.of(timedelta(minutes=1))
assert_type(sales.join(sales, same, within=within, store="both"), KStream[str, bool])
assert_type(sales.outer_join(sales, either, within=within), KStream[str, int])
assert_type(sales.join(customers, named, grace=timedelta(seconds=1)), KStream[str, str])
assert_type(sales.left_join(customers, perhaps_named, name="who"), KStream[str, str])
assert_type(sales.join(numbered, named, foreign_key=lambda _, sale: sale.cents), KStream[str, str])
assert_type(sales.join(everywhere, named, key_selector=lambda _, sale: sale.cents), KStream[str, str])
assert_type(sale_rows.join(customers, named, store="named"), KTable[str, str])
assert_type(sale_rows.left_join(numbered, perhaps_named, foreign_key=lambda _, sale: sale.cents), KTable[str, str])
assert_type(sale_rows.outer_join(sale_rows, either), KTable[str, int])
