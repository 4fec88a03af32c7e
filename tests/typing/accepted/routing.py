"""Functions that choose topics and partitions."""

from __future__ import annotations

from typing import assert_type

from headrace import KStream, KTable, RecordContext, StreamsBuilder, Topology, serdes
from tests.typing.model import Customer, Sale

builder = StreamsBuilder()
sales = builder.stream("sales", value_serde=serdes.Json(Sale))
perhaps = sales.map_values(lambda sale: sale if sale.cents else None)
rows = builder.table("rows", value_serde=serdes.Json(Sale))
numbered = builder.table("numbered", key_serde=serdes.Long(), value_serde=serdes.Json(Customer))


def topic_of(shop: str, sale: Sale, context: RecordContext) -> str:
    return f"sales-{shop}-{sale.cents}-{context.timestamp_ms}-{context.topic or ''}"


def by_shop(topic: str, shop: str, value: object, partitions: int) -> int:
    return len(topic + shop) % partitions


sales.to(topic_of)
sales.to(lambda shop, sale, context: f"sales-{sale.cents}", value_serde=serdes.Json(Sale), partitioner=by_shop)
perhaps.to(lambda shop, sale, context: "none" if sale is None else "some", value_serde=serdes.Json(Sale))
sales.to("out", partitioner=lambda topic, shop, sale, partitions: [0, sale.cents % partitions])
sales.to("out", partitioner=lambda topic, shop, sale, partitions: None)
assert_type(sales.repartition(partitioner=by_shop), KStream[str, Sale])
assert_type(
    sales.repartition("by-shop", partitioner=lambda topic, shop, sale, count: sale.cents % count), KStream[str, Sale]
)
assert_type(
    rows.join(
        numbered,
        lambda sale, customer: customer.name,
        foreign_key=lambda shop, sale: sale.cents,
        partitioner=by_shop,
        other_partitioner=lambda topic, number, nothing, partitions: number % partitions,
    ),
    KTable[str, str],
)
assert_type(
    sales.join(
        numbered,
        lambda sale, customer: customer.name,
        foreign_key=lambda shop, sale: sale.cents,
        other_partitioner=lambda topic, number, nothing, partitions: number % partitions,
    ),
    KStream[str, str],
)
Topology().add_source("in", "in").add_sink("out", topic_of, ["in"], partitioner=by_shop)
