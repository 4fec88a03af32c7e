"""Checked by mypy in test_inferred_types: each line that ends with a comment is refused with what the comment says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace import JoinWindows, StreamsBuilder, StreamsConfig, serdes


@dataclass
class Sale:
    cents: int


sales = StreamsBuilder().stream("sales", value_serde=serdes.Json(Sale))
sales.map_values(lambda sale: sale.cent)  # "Sale" has no attribute "cent"; maybe "cents"?
sales.filter(lambda store, sale: store.cents > 0)  # "str" has no attribute "cents"
StreamsBuilder().stream("sales", value_serde="json")  # No overload variant of "stream"
StreamsBuilder().table("sales", vaule_serde=serdes.String())  # No overload variant of "table"
StreamsConfig(application_id="sales", state_dri="s")  # Unexpected keyword argument "state_dri"
StreamsConfig(application_id="sales", sync_state="false")  # Argument "sync_state" to "StreamsConfig" has incompatible
StreamsConfig(application_id="sales", auto_offset_reset="last")  # Argument "auto_offset_reset" to "StreamsConfig" has
customers = StreamsBuilder().table("customers", value_serde=serdes.Json(Sale))
within = JoinWindows.of(timedelta(minutes=1))
sales.join(sales, lambda sale, other: sale.cents)  # No overload variant of "join"
sales.join(customers, lambda sale, customer: customer.cents, within=within)  # No overload variant of "join"
sales.left_join(customers, lambda sale, customer: customer.cents)  # Item "None" of "Sale | None" has no attribute
