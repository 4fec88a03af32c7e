"""Stateless operators of a stream, its branches and its outputs."""

from __future__ import annotations

from typing import assert_type

from headrace import BranchedKStream, KGroupedStream, KStream, KTable, StreamsBuilder, serdes
from tests.typing.model import Sale

sales = StreamsBuilder().stream("sales", value_serde=serdes.Json(Sale))

assert_type(sales.filter(lambda shop, sale: sale.cents > len(shop)), KStream[str, Sale])
assert_type(sales.filter_not(lambda shop, sale: sale.cents > 0, name="paid"), KStream[str, Sale])
assert_type(sales.map(lambda shop, sale: (sale.cents, shop)), KStream[int, str])
assert_type(sales.map_values(lambda sale: sale.cents), KStream[str, int])
assert_type(sales.map_values_with_key(lambda shop, sale: (shop, sale.cents)), KStream[str, tuple[str, int]])
assert_type(sales.flat_map(lambda shop, sale: [(sale.cents, shop), (0, shop)]), KStream[int, str])
assert_type(sales.flat_map_values(lambda sale: range(sale.cents)), KStream[str, int])
assert_type(sales.flat_map_values_with_key(lambda shop, sale: [shop, sale.customer]), KStream[str, str])
assert_type(sales.select_key(lambda shop, sale: sale.cents), KStream[int, Sale])
assert_type(sales.select_key(lambda shop, sale: sale.cents, key_serde=serdes.Long()), KStream[int, Sale])
assert_type(sales.peek(print), KStream[str, Sale])
assert_type(sales.peek(lambda shop, sale: print(shop, sale.cents)), KStream[str, Sale])
assert_type(sales.merge(sales.filter(lambda shop, sale: sale.cents > 0)), KStream[str, Sale])
assert_type(sales.repartition("by shop", partitions=4, value_serde=serdes.Json(Sale)), KStream[str, Sale])

sales.for_each(lambda shop, sale: print(shop, sale.cents))
sales.print(label="sales")
sales.print(mapper=lambda shop, sale: sale.cents, file="sales.txt")
sales.to("out")
sales.to("out", key_serde=serdes.String(), value_serde=serdes.Json(Sale))
sales.to("out", value_serde=serdes.Json())

assert_type(sales.split(), BranchedKStream[str, Sale])
big = sales.split(name="sizes").branch(lambda shop, sale: sale.cents > 9, name="big")
assert_type(big, BranchedKStream[str, Sale])
assert_type(big.default(name="small"), dict[str, KStream[str, Sale]])
assert_type(big.no_default()["big"], KStream[str, Sale])
assert_type(
    big.branch(lambda shop, sale: sale.cents > 5, function=lambda some: some.filter(lambda shop, sale: True)),
    BranchedKStream[str, Sale],
)
assert_type(big.default(consumer=lambda rest: rest.to("rest")), dict[str, KStream[str, Sale]])

assert_type(sales.to_table(store="latest"), KTable[str, Sale])
assert_type(sales.group_by_key(name="shops"), KGroupedStream[str, Sale])
assert_type(sales.group_by(lambda shop, sale: sale.cents), KGroupedStream[int, Sale])
assert_type(sales.group_by(lambda shop, sale: sale.customer or None), KGroupedStream[str, Sale])

# Every serde passes nulls through; tables and aggregations have no null values.
cents = sales.map_values(lambda sale: sale.cents or None)
assert_type(cents, KStream[str, int | None])
cents.to("out", value_serde=serdes.Long())
assert_type(cents.repartition(value_serde=serdes.Long()), KStream[str, int | None])
assert_type(cents.to_table(value_serde=serdes.Long()), KTable[str, int])
assert_type(cents.group_by_key(value_serde=serdes.Long()).reduce(lambda total, value: total + value), KTable[str, int])
