"""Joiners that misuse a value, options that do not fit the partner, partners with other keys."""

from __future__ import annotations

from datetime import timedelta

from headrace import JoinWindows, StreamsBuilder, serdes
from tests.typing.model import Customer, Sale

builder = StreamsBuilder()
sales = builder.stream("sales", value_serde=serdes.Json(Sale))
numbered_sales = builder.stream("numbered sales", key_serde=serdes.Long(), value_serde=serdes.Json(Sale))
rows = builder.table("rows", value_serde=serdes.Json(Sale))
customers = builder.table("customers", value_serde=serdes.Json(Customer))
numbered = builder.table("numbered", key_serde=serdes.Long(), value_serde=serdes.Json(Customer))
everywhere = builder.global_table("everywhere", key_serde=serdes.Long(), value_serde=serdes.Json(Customer))
within = JoinWindows.of(timedelta(minutes=1))
grace = timedelta(seconds=1)


def named(sale: Sale, customer: Customer) -> str:
    return customer.name


sales.join(customers, lambda sale, customer: customer.nam)  # has no attribute "nam" | Cannot access attribute "nam"
sales.join(sales, lambda sale, other: other.cent, within=within)  # has no attribute "cent" | Cannot access attribute
sales.left_join(customers, lambda sale, customer: customer.name)  # Item "None" of "Customer | None" | "name" is not
rows.join(customers, lambda sale, customer: sale.cent)  # has no attribute "cent" | Cannot access attribute "cent"
rows.left_join(customers, lambda sale, customer: customer.name)  # Item "None" of | "name" is not a known attribute
rows.outer_join(customers, lambda sale, customer: sale.cents)  # Item "None" of "Sale | None" | "cents" is not a known

sales.join(sales, named)  # No overload variant of "join" | No overloads for "join"
sales.join(sales, lambda sale, other: sale.cents)  # No overload variant of "join" | No overloads for "join"
sales.join(customers, named, within=within)  # No overload variant of "join" | "KTable[str, Customer]" cannot be
sales.join(everywhere, named, grace=grace)  # No overload variant of "join" | "GlobalKTable[int, Customer]" cannot be
sales.join(numbered, named, foreign_key=lambda shop, sale: 1, grace=grace)  # No overload variant | No overloads
sales.join(customers, named, key_selector=lambda shop, sale: shop)  # No overload variant | to "GlobalKTable
sales.join(customers, named, store="rows")  # No overload variant of "join" | No overloads for "join"
sales.outer_join(customers, lambda sale, customer: 1, within=within)  # No overload variant of "outer_join" | "KStream
rows.join(customers, named, within=within)  # No overload variant of "join" | No overloads for "join"
rows.join(sales, named)  # No overload variant of "join" | "KStream[str, Sale]" cannot be assigned

sales.join(numbered, named)  # expected "KTable[str, Customer]" | No overloads for "join"
sales.join(everywhere, named)  # expected "GlobalKTable[str, Customer]" | No overloads for "join"
sales.join(numbered_sales, lambda sale, other: 1, within=within)  # expected "KStream[str,  | type "KStream[str,
sales.join(numbered, named, foreign_key=lambda shop, sale: shop)  # (got "str", expected "int | with type "int
sales.join(everywhere, named, key_selector=lambda shop, sale: shop)  # expected "int | with type "int
rows.join(numbered, named)  # expected "KTable[str, Customer]" | "int" is not the same as "str"
rows.join(numbered, named, foreign_key=lambda shop, sale: sale.customer)  # expected "int | with type "int
rows.outer_join(numbered, lambda sale, customer: 1)  # incompatible type "KTable[int, Customer]" | "int" is not

sales.join(customers, lambda shop, sale, customer: shop.cents)  # Cannot infer type of lambda | attribute "cents"
sales.join(customers, lambda shop, number, sale, customer: shop)  # Cannot infer type of lambda | No overloads
sales.left_join(customers, lambda shop, sale, customer: customer.name)  # Cannot infer type of lambda | "name" is not a
rows.join(customers, lambda shop, number, sale, customer: shop)  # Cannot infer type of lambda | No overloads
