"""Streams, tables and topologies: the serdes decide the types."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, assert_type

from headrace import (
    AutoOffsetReset,
    ConsumerRecord,
    GlobalKTable,
    KStream,
    KTable,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    serdes,
    use_partition_time_on_invalid_timestamp,
)
from tests.typing.model import Sale

builder = StreamsBuilder()
json = serdes.Json(Sale)

assert_type(builder.stream("t"), KStream[str, Any])
assert_type(builder.stream("t", value_serde=json), KStream[str, Sale])
assert_type(builder.stream(["t", "u"], key_serde=serdes.Long(), name="both"), KStream[int, Any])
assert_type(builder.stream("t", key_serde=serdes.Long(), value_serde=json), KStream[int, Sale])
declared: KStream[str, Sale] = builder.stream("t")

assert_type(builder.table("t"), KTable[str, Any])
assert_type(builder.table("t", value_serde=json), KTable[str, Sale])
assert_type(builder.table("t", key_serde=serdes.Long(), value_serde=serdes.String(), store="rows"), KTable[int, str])
versioned = Stores.versioned_key_value("rows", history=timedelta(days=1))
assert_type(builder.table("t", key_serde=serdes.Long(), value_serde=json, store=versioned), KTable[int, Sale])

assert_type(builder.global_table("t"), GlobalKTable[str, Any])
assert_type(builder.global_table("t", value_serde=json), GlobalKTable[str, Sale])
assert_type(
    builder.global_table("t", key_serde=serdes.Long(), store=Stores.timestamped_key_value("rows")),
    GlobalKTable[int, Any],
)


def sold_at(record: ConsumerRecord[str, Sale], partition_time_ms: int) -> int:
    return record.value.cents + partition_time_ms


assert_type(builder.stream("t", value_serde=json, timestamp_extractor=sold_at), KStream[str, Sale])
assert_type(
    builder.table("t", value_serde=json, timestamp_extractor=use_partition_time_on_invalid_timestamp),
    KTable[str, Sale],
)
builder.stream("t", timestamp_extractor=lambda record, _: record.value["at"])

assert_type(builder.add_state_store(versioned), StreamsBuilder)
assert_type(builder.build(), Topology)
assert_type(Topology().add_source("in", "t", ["u"], value_serde=json), Topology)
assert_type(Topology().add_sink("out", "t", parents="in", key_serde=serdes.Long()), Topology)
assert_type(Topology().add_state_store(versioned, processors=["p"]), Topology)
assert_type(Topology().connect_processor_and_state_stores("p", "rows"), Topology)
assert_type(builder.build().describe(), str)
assert_type(builder.build().to_mermaid(), str)
assert_type(builder.build().to_svg(), str)

assert_type(builder.stream(re.compile("t-.*"), value_serde=json), KStream[str, Sale])
assert_type(Topology().add_source("in", re.compile("t-.*"), offset_reset="none"), Topology)
assert_type(builder.stream("t", value_serde=json, offset_reset="latest"), KStream[str, Sale])
assert_type(builder.table("t", value_serde=json, offset_reset=AutoOffsetReset.latest()), KTable[str, Sale])
assert_type(builder.global_table("t", value_serde=json, offset_reset=AutoOffsetReset.none()), GlobalKTable[str, Sale])
assert_type(AutoOffsetReset.by_duration(timedelta(days=1)).duration, timedelta | None)
StreamsConfig(application_id="a", auto_offset_reset=AutoOffsetReset.earliest())
