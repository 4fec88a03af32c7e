"""Functions that choose topics and partitions, but do not fit."""

from __future__ import annotations

from headrace import StreamsBuilder, serdes
from tests.typing.model import Sale

builder = StreamsBuilder()
sales = builder.stream("sales", value_serde=serdes.Json(Sale))

sales.to(lambda shop, sale, context: sale.cent)  # has no attribute "cent" | Cannot access attribute "cent"
sales.to(lambda shop, sale, context: sale.cents)  # got "int", expected "str" | "int" is
sales.to(lambda shop, sale: "out")  # Cannot infer type of lambda | positional
sales.to("out", partitioner=lambda topic, shop, sale, count: sale.cent)  # has no attribute "cent" | Cannot access
sales.to("out", partitioner=lambda topic, shop, sale, count: "0")  # expected "int | parameter "partitioner" of type
sales.repartition(partitioner=lambda topic, shop, sale, count: shop.cents)  # has no attribute "cents" | Cannot access
