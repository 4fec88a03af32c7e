"""Serdes that do not fit the keys and values, and misspelt options."""

from __future__ import annotations

from datetime import timedelta

from headrace import LocalTopics, Record, Stores, StreamsBuilder, serdes
from headrace.testing import TopologyTestDriver
from tests.typing.model import Sale

builder = StreamsBuilder()
sales = builder.stream("sales", value_serde=serdes.Json(Sale))
rows = builder.table("rows", value_serde=serdes.Json(Sale))

builder.stream("sales", value_serde="json")  # has incompatible type "str"; expected "Serde | cannot be assigned
builder.table("sales", vaule_serde=serdes.String())  # did you mean "value_serde"? | No parameter named "vaule_serde"
builder.table("sales", store=Stores.key_value("rows"))  # incompatible type "KeyValueSpec | "KeyValueSpec
sales.to("out", value_serde=serdes.Long())  # incompatible type "Long"; expected "Serde[Sale] | "Long" is not
sales.to("out", key_serde=serdes.Long())  # incompatible type "Long"; expected "Serde[str] | "Long" is not
sales.select_key(lambda shop, sale: shop, key_serde=serdes.Long())  # "str", expected "int" | "Long" is not assignable
sales.group_by_key(value_serde=serdes.Long())  # incompatible type "Long" | "Long" is not assignable
sales.to_table(key_serde=serdes.Long())  # incompatible type "Long" | "Long" is not assignable
rows.map_values(lambda sale: sale.customer, value_serde=serdes.Long())  # "str", expected "int | "Long" is not
sales.group_by_key().aggregate(str, lambda _, sale, text: text, value_serde=serdes.Long())  # expected | "Long" is not
windows = Stores.window("w", retention=timedelta(1), window_size=timedelta(1))
sales.group_by_key().count(store=windows)  # incompatible type "WindowSpec | "WindowSpec

driver = TopologyTestDriver(builder.build())
driver.input_topic("in", value_serde=serdes.Json(Sale)).pipe("a", 1)  # No overload variant of "pipe" | "Literal[1]"
results = driver.output_topic("out", value_serde=serdes.Json(Sale)).read_all()
print(results[0].value.cent)  # has no attribute "cent" | Cannot access attribute "cent"
LocalTopics("topics").produce("t", [Record("a", 1)], value_serde=serdes.String())  # Cannot infer value of | "int"
