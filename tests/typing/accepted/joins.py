"""Joins, by the kind of their partner."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

from headrace import JoinWindows, KStream, KTable, StreamsBuilder, serdes
from tests.typing.model import Customer, Sale

builder = StreamsBuilder()
sales = builder.stream("sales", value_serde=serdes.Json(Sale))
perhaps = sales.map_values(lambda sale: sale if sale.cents else None)
last_sales = builder.table("last sales", value_serde=serdes.Json(Sale))
customers = builder.table("customers", value_serde=serdes.Json(Customer))
numbered = builder.table("numbered", key_serde=serdes.Long(), value_serde=serdes.Json(Customer))
everywhere = builder.global_table("everywhere", key_serde=serdes.Long(), value_serde=serdes.Json(Customer))
by_name = builder.global_table("by name", value_serde=serdes.Json(Customer))
within = JoinWindows.of(timedelta(minutes=1))


def named(sale: Sale, customer: Customer) -> str:
    return f"{customer.name}: {sale.cents}"


def perhaps_named(sale: Sale, customer: Customer | None) -> str:
    return str(sale.cents) if customer is None else customer.name


def either(sale: Sale | None, other: Sale | None) -> int:
    return (0 if sale is None else sale.cents) + (0 if other is None else other.cents)


# Two streams
assert_type(sales.join(sales, lambda sale, other: sale.cents + other.cents, within=within), KStream[str, int])
assert_type(sales.join(perhaps, lambda sale, other: sale == other, within=within, store="both"), KStream[str, bool])
assert_type(
    sales.left_join(sales, lambda sale, other: other.cents if other else None, within=within), KStream[str, int | None]
)
assert_type(sales.outer_join(sales, either, within=within, name="either"), KStream[str, int])
json = serdes.Json(Sale)
assert_type(
    sales.join(sales, lambda sale, other: sale.cents, within=within, value_serde=json, other_value_serde=json),
    KStream[str, int],
)

# A stream and a table
assert_type(sales.join(customers, named, grace=timedelta(seconds=1)), KStream[str, str])
assert_type(
    sales.join(customers, lambda sale, customer: customer.country, key_serde=serdes.String()), KStream[str, int]
)
assert_type(perhaps.join(customers, named), KStream[str, str])
assert_type(sales.left_join(customers, perhaps_named, name="who"), KStream[str, str])
assert_type(sales.join(numbered, named, foreign_key=lambda shop, sale: sale.cents), KStream[str, str])
assert_type(
    sales.left_join(numbered, perhaps_named, foreign_key=lambda shop, sale: sale.cents or None), KStream[str, str]
)

# A stream and a global table
assert_type(sales.join(everywhere, named, key_selector=lambda shop, sale: sale.cents), KStream[str, str])
assert_type(sales.join(by_name, named), KStream[str, str])
assert_type(sales.left_join(everywhere, perhaps_named, key_selector=lambda shop, sale: sale.cents), KStream[str, str])
assert_type(sales.left_join(by_name, perhaps_named, name="who"), KStream[str, str])

# Two tables
assert_type(last_sales.join(customers, named, store="named", value_serde=serdes.String()), KTable[str, str])
assert_type(last_sales.join(customers, lambda sale, customer: sale.cents or None), KTable[str, int])
assert_type(last_sales.join(numbered, named, foreign_key=lambda shop, sale: sale.cents), KTable[str, str])
assert_type(last_sales.left_join(customers, perhaps_named), KTable[str, str])
assert_type(
    last_sales.left_join(numbered, perhaps_named, foreign_key=lambda shop, sale: sale.cents, store="who"),
    KTable[str, str],
)
assert_type(last_sales.outer_join(last_sales, either), KTable[str, int])


# Joiners that get the key, or both keys
def keyed(shop: str, sale: Sale, customer: Customer) -> str:
    return f"{shop} {named(sale, customer)}"


def both_keyed(shop: str, number: int, sale: Sale, customer: Customer) -> float:
    return float(number)


def perhaps_keyed(shop: str, number: int | None, sale: Sale, customer: Customer | None) -> float:
    return float(number or 0)


def either_keyed(shop: str, sale: Sale | None, other: Sale | None) -> str:
    return shop


assert_type(
    sales.join(sales, lambda shop, sale, other: (shop, sale.cents), within=within), KStream[str, tuple[str, int]]
)
assert_type(sales.outer_join(sales, either_keyed, within=within), KStream[str, str])
assert_type(sales.join(customers, keyed), KStream[str, str])
assert_type(
    sales.left_join(customers, lambda shop, sale, customer: (shop, customer)),
    KStream[str, tuple[str, Customer | None]],
)
assert_type(sales.join(numbered, keyed, foreign_key=lambda shop, sale: sale.cents), KStream[str, str])
assert_type(sales.join(numbered, both_keyed, foreign_key=lambda shop, sale: sale.cents), KStream[str, float])
assert_type(sales.join(by_name, keyed), KStream[str, str])
assert_type(sales.join(everywhere, keyed, key_selector=lambda shop, sale: sale.cents), KStream[str, str])
assert_type(sales.join(everywhere, both_keyed, key_selector=lambda shop, sale: sale.cents), KStream[str, float])
assert_type(sales.left_join(everywhere, perhaps_keyed, key_selector=lambda shop, sale: sale.cents), KStream[str, float])
assert_type(last_sales.join(customers, keyed), KTable[str, str])
assert_type(last_sales.outer_join(last_sales, either_keyed), KTable[str, str])
assert_type(last_sales.join(numbered, keyed, foreign_key=lambda shop, sale: sale.cents), KTable[str, str])
assert_type(last_sales.join(numbered, both_keyed, foreign_key=lambda shop, sale: sale.cents), KTable[str, float])
assert_type(
    last_sales.left_join(numbered, perhaps_keyed, foreign_key=lambda shop, sale: sale.cents), KTable[str, float]
)
