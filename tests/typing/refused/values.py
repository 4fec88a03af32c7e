"""Misspelt attributes of values, and functions that do not fit."""

from __future__ import annotations

from headrace import StreamsBuilder, TimeWindows, serdes
from tests.typing.model import Customer, Sale

builder = StreamsBuilder()
sales = builder.stream("sales", value_serde=serdes.Json(Sale))
rows = builder.table("rows", value_serde=serdes.Json(Sale))
grouped = sales.group_by_key()

sales.mapValues(str)  # has no attribute "mapValues" | Cannot access attribute "mapValues"
TimeWindows.ofSize()  # has no attribute "ofSize" | Cannot access attribute "ofSize"
serdes.Integer()  # Module has no attribute "Integer" | "Integer" is not a known attribute
sales.map_values(lambda sale: sale.cent)  # "Sale" has no attribute "cent" | Cannot access attribute "cent"
sales.map_values_with_key(lambda shop, sale: sale.cent)  # has no attribute "cent" | Cannot access attribute "cent"
sales.map(lambda shop, sale: (shop.cents, sale))  # "str" has no attribute "cents" | Cannot access attribute "cents"
sales.flat_map_values(lambda sale: [sale.cent])  # has no attribute "cent" | Cannot access attribute "cent"
sales.filter(lambda shop, sale: sale.cent > 0)  # has no attribute "cent" | Cannot access attribute "cent"
sales.filter(lambda shop, sale: shop.cents > 0)  # has no attribute "cents" | Cannot access attribute "cents"
sales.select_key(lambda shop, sale: sale.cent)  # has no attribute "cent" | Cannot access attribute "cent"
sales.group_by(lambda shop, sale: sale.cent)  # has no attribute "cent" | Cannot access attribute "cent"
sales.peek(lambda shop, sale: print(sale.cent))  # has no attribute "cent" | Cannot access attribute "cent"
sales.split().branch(lambda shop, sale: sale.cent > 0)  # has no attribute "cent" | Cannot access attribute "cent"
sales.map_values(lambda sale: sale.cents).map_values(lambda cents: cents.upper())  # "int" has no | Cannot access
sales.filter(lambda sale: True)  # Cannot infer type of lambda | too few positional parameters
sales.flat_map_values(lambda sale: sale.cents)  # got "int", expected "Iterable | "int" is incompatible with
sales.merge(builder.stream("customers", value_serde=serdes.Json(Customer)))  # incompatible type | Sale
rows.map_values(lambda sale: sale.cent)  # has no attribute "cent" | Cannot access attribute "cent"
rows.filter(lambda shop, sale: sale.cent > 0)  # has no attribute "cent" | Cannot access attribute "cent"
rows.group_by(lambda shop, sale: (sale.cent, sale))  # has no attribute "cent" | Cannot access attribute "cent"
rows.to_stream().map_values(lambda sale: sale.cent)  # has no attribute "cent" | Cannot access attribute "cent"

grouped.aggregate(int, lambda shop, sale, total: total + sale.cent)  # has no attribute "cent" | Cannot access
grouped.aggregate(int, lambda shop, sale, total: str(total), value_serde=serdes.Long())  # got "str" | "Long" is not
grouped.reduce(lambda best, sale: sale.cents)  # got "int", expected "Sale | "int" is not assignable
grouped.cogroup(lambda shop, sale, total: sale.cent)  # has no attribute "cent" | Cannot access attribute "cent"
grouped.count().map_values(lambda count: count.cents)  # "int" has no attribute | Cannot access attribute "cents"
