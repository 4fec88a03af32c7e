"""Output topics and partitions that functions choose."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import topology
from conformance.topologies.table_joins import foreign_key_of
from headrace import serdes


@topology("dynamic-topics")
def dynamic_topics(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").to(_topic_of)


@topology("dynamic-topics-by-context")
def by_context(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").to(_place)


@topology("dynamic-topics-of-counts")
def of_counts(builder: hr.StreamsBuilder) -> None:
    counts = builder.stream("in").group_by(lambda _, value: f.head(value)).count()
    counts.to_stream().to(lambda _, count, __: f"out-{count % 3}")


@topology("dynamic-topics-that-are-read")
def that_are_read(builder: hr.StreamsBuilder) -> None:
    """Some records go to a topic that the topology reads, and from there to another one."""
    builder.stream("in").to(lambda key, value, _: "long" if f.is_long(key, value) else "short")
    builder.stream("long").map_values(f.shout).to("out")


@topology("dynamic-topics-of-a-processor")
def of_a_processor(builder: hr.StreamsBuilder) -> hr.Topology:  # noqa: ARG001
    built = hr.Topology().add_source("source", "in").add_processor("doubling", _Doubling, parents=["source"])
    return built.add_sink("sink", lambda _, __, context: f"out-{context.timestamp_ms % 2}", parents=["doubling"])


@topology("partitioner-of-a-sink")
def of_a_sink(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").to("out", partitioner=_by_value)


@topology("partitioner-of-a-dynamic-topic")
def of_a_dynamic_topic(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").to(_topic_of, partitioner=_by_value)


@topology("partitioner-of-a-repartition")
def of_a_repartition(builder: hr.StreamsBuilder) -> None:
    by_head = builder.stream("in").select_key(lambda _, value: f.head(value))
    again = by_head.repartition("again", partitioner=_by_length, value_serde=serdes.Json())
    again.group_by_key().count().to_stream().to("out")


@topology("partitioners-of-a-foreign-key-join")
def of_a_foreign_key_join(builder: hr.StreamsBuilder) -> None:
    joined = builder.table("left").join(
        builder.table("right"),
        f.joined,
        foreign_key=foreign_key_of,
        partitioner=_by_length,
        other_partitioner=_by_length,
    )
    joined.to_stream().to("out")


def _topic_of(_: Any, value: Any, __: hr.RecordContext) -> str:
    return f"out-{'_' if value is None else len(value) % 3}"


def _place(_: Any, __: Any, context: hr.RecordContext) -> str:
    parity = "odd" if context.offset % 2 else "even"
    return f"{context.topic}-{context.partition}-{parity}-{context.timestamp_ms % 2}"


def _by_value(_: str, key: Any, value: Any, partitions: int) -> Collection[int] | int | None:
    """Drops records without a value; leaves the choice for long values to Kafka."""
    if value is None:
        return ()
    return None if f.is_long(key, value) else len(value) % partitions


def _by_length(_: str, key: Any, __: Any, partitions: int) -> int:
    return len(key) % partitions


class _Doubling(hr.Processor):
    """Forwards each record twice, the second time a millisecond later."""

    def process(self, record: hr.Record[Any, Any]) -> None:
        self.context.forward(record)
        assert record.timestamp_ms is not None
        self.context.forward(record.with_timestamp(record.timestamp_ms + 1))
