"""`run_stream` and `run_table`: run a part of a topology on a few records, for examples and short tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.model.record import Record
from headrace.testing.driver import TopologyTestDriver

K = TypeVar("K")
V = TypeVar("V")


def run_table(build: Callable[[KTable[str, Any]], KTable[K, V]], *records: tuple[Any, ...]) -> list[Record[K, V]]:
    """Runs a part of a topology on a table; returns the changes of the resulting table.

    Args:
        build: gets the table with the records, and returns the resulting table.
        records: tuples `(key, value, timestamp_ms)`, also with headers and partition, as for `TestInputTopic.pipe`.

    Example:
        >>> run_table(lambda table: table.map_values(str.upper), ("a", "x", 5))
        [Record(key='a', value='X', timestamp_ms=5)]
    """
    builder = StreamsBuilder()
    build(builder.table("input")).to_stream().to("output")
    with TopologyTestDriver(builder.build()) as driver:
        for record in records:
            driver.input_topic("input").pipe(*record)
        return driver.output_topic("output").read_all()


def run_stream(
    build: Callable[[KStream[str, Any]], KStream[K, V] | None], *records: tuple[Any, ...]
) -> list[Record[K, V]]:
    """Runs a part of a topology on a stream; returns the records of the resulting stream.

    Args:
        build: gets the stream of the records, and returns the resulting stream, or `None` if it ends the stream.
        records: tuples `(key, value, timestamp_ms)`, also with headers and partition, as for `TestInputTopic.pipe`.

    Example:
        >>> run_stream(lambda stream: stream.map_values(str.upper), ("a", "x", 5))
        [Record(key='a', value='X', timestamp_ms=5)]
    """
    builder = StreamsBuilder()
    built = build(builder.stream("input"))
    if built is not None:
        built.to("output")
    with TopologyTestDriver(builder.build()) as driver:
        for record in records:
            driver.input_topic("input").pipe(*record)
        return driver.output_topic("output").read_all() if built is not None else []
