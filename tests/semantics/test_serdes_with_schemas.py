"""Typed values in Avro from topic to topic: read, repartitioned, aggregated in a store and written."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from headrace import Record, StreamsBuilder, serdes
from tests.support.protos.orders_pb2 import Order, Total
from tests.support.registry import LocalRegistry

SALE_SCHEMA = {
    "type": "record",
    "name": "Sale",
    "namespace": "shop",
    "fields": [
        {"name": "customer", "type": "string"},
        {"name": "cents", "type": "long"},
        {"name": "items", "type": {"type": "array", "items": "string"}},
    ],
}
ACCOUNT_SCHEMA = {
    "type": "record",
    "name": "Account",
    "namespace": "shop",
    "fields": [
        {"name": "cents", "type": "long"},
        {"name": "items", "type": {"type": "map", "values": "int"}},
    ],
}


@dataclass
class Sale:
    customer: str
    cents: int
    items: list[str]


@dataclass
class Account:
    cents: int = 0
    items: dict[str, int] = field(default_factory=dict)


def add(customer, sale, account):
    for item in sale.items:
        account.items[item] = account.items.get(item, 0) + 1
    return Account(account.cents + sale.cents, account.items)


SALES = [
    ("sales", "s1", Sale("ann", 500, ["tea"]), 10),
    ("sales", "s2", Sale("bob", 300, []), 5),
    ("sales", "s3", Sale("ann", 250, ["tea", "cup"]), 7),
]
ACCOUNTS = [
    Record("ann", Account(500, {"tea": 1}), 10),
    Record("bob", Account(300, {}), 5),
    Record("ann", Account(750, {"tea": 2, "cup": 1}), 10),
]


@pytest.fixture
def registry():
    with LocalRegistry() as local:
        yield local


def accounts(sales, totals):
    builder = StreamsBuilder()
    (
        builder.stream("sales", value_serde=sales)
        .group_by(lambda sale_id, sale: sale.customer, value_serde=sales)
        .aggregate(Account, add, store="accounts", value_serde=totals)
        .to_stream()
        .to("accounts", value_serde=totals)
    )
    return builder.build()


def in_order(records):
    """Records sorted by key; those of one key keep their order."""
    return sorted(records, key=lambda record: record.key)


def test_typed_values_are_read_and_written_as_avro_with_a_registry(runtime, registry):
    where = serdes.Registry(registry.url)
    sales, totals = serdes.Avro(SALE_SCHEMA, Sale, registry=where), serdes.Avro(ACCOUNT_SCHEMA, Account, registry=where)
    outputs, _ = runtime.run(accounts(sales, totals), SALES)
    assert in_order(outputs["accounts"]) == in_order(ACCOUNTS)
    assert sorted(registry.subjects) == ["accounts-value", "sales-value", "shop.Account", "shop.Sale"]


def test_typed_values_are_read_and_written_as_plain_avro(runtime):
    topology = accounts(serdes.Avro(SALE_SCHEMA, Sale), serdes.Avro(ACCOUNT_SCHEMA, Account))
    outputs, _ = runtime.run(topology, SALES)
    assert in_order(outputs["accounts"]) == in_order(ACCOUNTS)


def test_messages_are_read_and_written_as_protobuf_with_a_registry(runtime, registry):
    where = serdes.Registry(registry.url)
    orders, totals = serdes.Protobuf(Order, registry=where), serdes.Protobuf(Total, registry=where)
    builder = StreamsBuilder()
    (
        builder.stream("orders", value_serde=orders)
        .group_by_key()
        .aggregate(
            Total,
            lambda customer, order, total: Total(customer=customer, cents=total.cents + order.price.cents),
            store="totals",
            value_serde=totals,
        )
        .to_stream()
        .to("totals", value_serde=totals)
    )
    inputs = [("orders", "ann", Order(id=str(n), price={"cents": n}), n) for n in (3, 5, 4)]
    outputs, _ = runtime.run(builder.build(), inputs)
    expected = [(3, 3), (8, 5), (12, 5)]
    assert outputs["totals"] == [Record("ann", Total(customer="ann", cents=n), t) for n, t in expected]
