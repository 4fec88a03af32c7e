"""Table sources and operators on tables."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology


def source_table(builder: hr.StreamsBuilder, topic: str, *, stored: bool = False) -> Any:
    """A table with a store named after its topic, or without a store."""
    return builder.table(topic, store=f"{topic}-store") if stored else builder.table(topic)


def versioned_table(builder: hr.StreamsBuilder, topic: str, history: int) -> Any:
    """A versioned table that retains `history` milliseconds of each row."""
    return builder.table(topic, store=hr.Stores.versioned_key_value(f"{topic}-store", history=ms(history)))


@topology("table")
def table(builder: hr.StreamsBuilder, *, stored: bool) -> None:
    source_table(builder, "in", stored=stored).to_stream().to("out")


@topology("table-filter")
def table_filter(builder: hr.StreamsBuilder, *, stored: bool = False, result_stored: bool = False) -> None:
    options = {"store": "filtered"} if result_stored else {}
    source_table(builder, "in", stored=stored).filter(f.is_long, **options).to_stream().to("out")


@topology("table-filter-not")
def table_filter_not(builder: hr.StreamsBuilder, *, stored: bool) -> None:
    source_table(builder, "in", stored=stored).filter_not(f.is_long).to_stream().to("out")


@topology("table-map-values")
def table_map_values(builder: hr.StreamsBuilder, *, stored: bool = False, result_stored: bool = False) -> None:
    """Maps "nil" to `None`; appends an exclamation mark to everything else."""
    options = {"store": "mapped"} if result_stored else {}
    source_table(builder, "in", stored=stored).map_values(_shout_unless_nil, **options).to_stream().to("out")


@topology("table-map-values-with-key")
def table_map_values_with_key(builder: hr.StreamsBuilder) -> None:
    builder.table("in").map_values_with_key(f.joined).to_stream().to("out")


@topology("table-chain")
def table_chain(builder: hr.StreamsBuilder, *, stored: bool) -> None:
    (
        source_table(builder, "in", stored=stored)
        .map_values(_shout_unless_nil)
        .filter(f.is_longer)
        .map_values(f.shout)
        .to_stream()
        .to("out")
    )


@topology("to-table")
def to_table(builder: hr.StreamsBuilder, *, stored: bool) -> None:
    options = {"store": "rows"} if stored else {}
    builder.stream("in").to_table(**options).to_stream().to("out")


@topology("select-key-to-table")
def select_key_to_table(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").select_key(lambda _, value: f.head(value)).to_table(store="rows").to_stream().to("out")


@topology("table-to-stream-with-key")
def table_to_stream_with_key(builder: hr.StreamsBuilder, *, stored: bool) -> None:
    source_table(builder, "in", stored=stored).to_stream(f.joined).to("out")


@topology("table-to-stream-with-key-and-count")
def table_to_stream_with_key_and_count(builder: hr.StreamsBuilder) -> None:
    stream: Any = builder.table("in").to_stream(lambda _, value: f.head(value))
    stream.group_by_key().count().to_stream().to("out")


@topology("filtered-count")
def filtered_count(builder: hr.StreamsBuilder) -> None:
    counts = builder.stream("in").group_by_key().count()
    counts.filter(lambda _, count: count % 2 == 0).to_stream().to("out")


@topology("versioned-table")
def versioned(builder: hr.StreamsBuilder, *, history: int) -> None:
    versioned_table(builder, "in", history).to_stream().to("out")


@topology("versioned-table-filter")
def versioned_filter(builder: hr.StreamsBuilder, *, history: int) -> None:
    versioned_table(builder, "in", history).filter(f.is_long).to_stream().to("out")


@topology("versioned-table-map-values")
def versioned_map_values(builder: hr.StreamsBuilder, *, history: int) -> None:
    versioned_table(builder, "in", history).map_values(f.shout).to_stream().to("out")


def _shout_unless_nil(value: str) -> str | None:
    return None if value == "nil" else f.shout(value)
