"""Operators of a table, and aggregations of a grouped table."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_type

from headrace import (
    BufferConfig,
    KGroupedTable,
    KStream,
    KTable,
    ProcessorContext,
    Stores,
    StreamsBuilder,
    Suppressed,
    ValueTransformerWithKey,
    Window,
    serdes,
)
from tests.typing.model import Sale

sales = StreamsBuilder().table("sales", value_serde=serdes.Json(Sale))

assert_type(sales.filter(lambda shop, sale: sale.cents > 0, store="paid"), KTable[str, Sale])
assert_type(sales.filter_not(lambda shop, sale: sale.cents > 0), KTable[str, Sale])
assert_type(sales.map_values(lambda sale: sale.cents, value_serde=serdes.Long()), KTable[str, int])
assert_type(sales.map_values(lambda sale: sale.customer or None), KTable[str, str])
assert_type(sales.map_values_with_key(lambda shop, sale: f"{shop}: {sale.cents}", store="texts"), KTable[str, str])
assert_type(sales.to_stream(name="changes"), KStream[str, Sale])
assert_type(sales.to_stream(lambda shop, sale: sale.cents, key_serde=serdes.Long()), KStream[int, Sale])
versioned = Stores.versioned_key_value("versions", history=timedelta(days=1))
assert_type(sales.filter(lambda shop, sale: sale.cents > 0, store=versioned), KTable[str, Sale])
assert_type(sales.queryable_store_name, str | None)


class Cents(ValueTransformerWithKey[str, Sale, int]):
    """The cents of a sale, 0 for a deleted one."""

    def transform(self, key: str, value: Sale | None) -> int | None:
        assert_type(self.context, ProcessorContext[str, int])
        return 0 if value is None else value.cents


assert_type(Cents().transform("shop", None), int | None)
assert_type(sales.transform_values(Cents, stores=["names"], store=versioned), KTable[str, int])
assert_type(sales.transform_values(Cents, value_serde=serdes.Long()), KTable[str, int])
limit = Suppressed.until_time_limit(timedelta(seconds=5), buffer=BufferConfig.max_records(9).shut_down_when_full())
assert_type(sales.suppress(limit, name="calm"), KTable[str, Sale])
assert_type(BufferConfig.max_bytes(9).with_max_records(9).emit_early_when_full(), BufferConfig)
assert_type(BufferConfig.unbounded().with_max_bytes(9).with_no_bound(), BufferConfig)
assert_type(Window(0, 10).overlaps(Window(5, 15)), bool)
assert_type(Window(0, 10).start_time, datetime)

customers = sales.group_by(lambda shop, sale: (sale.customer, sale.cents), value_serde=serdes.Long())
assert_type(customers, KGroupedTable[str, int])
assert_type(customers.count(store="shops"), KTable[str, int])
assert_type(customers.reduce(lambda total, cents: total + cents, lambda total, cents: total - cents), KTable[str, int])
assert_type(
    customers.aggregate(
        float,
        lambda customer, cents, total: total + cents / 100,
        lambda customer, cents, total: total - cents / 100,
        value_serde=serdes.Double(),
    ),
    KTable[str, float],
)
perhaps = sales.group_by(lambda shop, sale: (sale.cents, shop) if sale.cents else None, key_serde=serdes.Long())
assert_type(perhaps, KGroupedTable[int, str])
