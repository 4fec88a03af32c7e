"""Tables whose values a transformer computes."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import topology
from conformance.topologies.table_joins import by_kind
from conformance.topologies.tables import source_table, versioned_table
from headrace import serdes

NUMBERS = hr.Stores.key_value("numbers", value_serde=serdes.Long())


class Shouting(hr.ValueTransformerWithKey[str, str, str]):
    """Appends an exclamation mark; "nil" and `None` become `None`."""

    def transform(self, key: str, value: str | None) -> str | None:  # noqa: ARG002
        return None if value is None or value == "nil" else f.shout(value)


class ShownToo(hr.ValueTransformerWithKey[str, str, str]):
    """Shows key and value, also of a deleted row."""

    def transform(self, key: str, value: str | None) -> str | None:
        return f.joined(key, value)


class Numbering(hr.ValueTransformerWithKey[str, str, str]):
    """Appends the number of calls for the key, which it stores; `None` stays `None`, but is counted."""

    def transform(self, key: str, value: str | None) -> str | None:
        numbers = self.context.state_store(NUMBERS)
        number = (numbers.get(key) or 0) + 1
        numbers.put(key, number)
        return None if value is None else f"{value}{number}"


@topology("table-transform-values")
def transform(builder: hr.StreamsBuilder, *, stored: bool = False, result_stored: bool = False) -> None:
    _shouting(source_table(builder, "in", stored=stored), result_stored=result_stored).to_stream().to("out")


@topology("table-transform-values-of-deleted-rows")
def of_deleted_rows(builder: hr.StreamsBuilder, *, stored: bool) -> None:
    source_table(builder, "in", stored=stored).transform_values(ShownToo).to_stream().to("out")


@topology("table-transform-values-with-store")
def with_store(builder: hr.StreamsBuilder, *, stored: bool = False, result_stored: bool = False) -> None:
    _numbered(source_table(builder, "in", stored=stored), result_stored=result_stored).to_stream().to("out")


@topology("table-transform-values-and-aggregate")
def and_aggregate(builder: hr.StreamsBuilder, *, result_stored: bool) -> None:
    _aggregate(_shouting(builder.table("in"), result_stored=result_stored))


@topology("table-transform-values-with-store-and-aggregate")
def with_store_and_aggregate(builder: hr.StreamsBuilder, *, result_stored: bool) -> None:
    _aggregate(_numbered(builder.table("in"), result_stored=result_stored))


@topology("table-transform-values-and-filter")
def and_filter(builder: hr.StreamsBuilder, *, stored: bool = False, result_stored: bool = False) -> None:
    rows = _shouting(source_table(builder, "in", stored=stored), result_stored=result_stored)
    rows.filter(f.is_longer).to_stream().to("out")


@topology("transformed-tables-join")
def tables_join(builder: hr.StreamsBuilder, *, kind: str, result_stored: bool = False) -> None:
    left: Any = _shouting(builder.table("left"), result_stored=result_stored)
    right = _shouting(builder.table("right"), result_stored=False)
    by_kind(left, kind)(right, f.joined).to_stream().to("out")


@topology("stream-transformed-table-join")
def stream_join(builder: hr.StreamsBuilder, *, result_stored: bool) -> None:
    stream: Any = builder.stream("stream")
    stream.left_join(_shouting(builder.table("table"), result_stored=result_stored), f.joined).to("out")


@topology("versioned-table-transform-values")
def versioned(builder: hr.StreamsBuilder, *, history: int) -> None:
    versioned_table(builder, "in", history).transform_values(Shouting).to_stream().to("out")


@topology("versioned-table-transform-values-and-aggregate")
def versioned_and_aggregate(builder: hr.StreamsBuilder, *, history: int) -> None:
    _aggregate(versioned_table(builder, "in", history).transform_values(Shouting))


def _shouting(table: Any, *, result_stored: bool) -> Any:
    return table.transform_values(Shouting, store="transformed") if result_stored else table.transform_values(Shouting)


def _numbered(table: Any, *, result_stored: bool) -> Any:
    options = {"store": "transformed"} if result_stored else {}
    return table.transform_values(Numbering, stores=[NUMBERS], **options)


def _aggregate(table: Any) -> None:
    table.group_by(f.by_group).aggregate(f.arrow, f.plus, f.minus).to_stream().to("out")
