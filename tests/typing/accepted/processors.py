"""Processors, and what they forward."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, assert_type

from headrace import (
    Cancellable,
    Counter,
    FixedKeyProcessor,
    Gauge,
    Headers,
    KeyValueStore,
    KStream,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Stores,
    StoreSpec,
    StreamsBuilder,
    To,
    Topology,
    serdes,
)
from tests.typing.model import Sale

sales = StreamsBuilder().stream("sales", value_serde=serdes.Json(Sale))
totals = Stores.key_value("totals", value_serde=serdes.Long())


class Total(Processor[str, Sale, int, float]):
    """Forwards something else than it processes."""

    def __init__(self, threshold: int = 0) -> None:
        self.threshold = threshold

    def init(self, context: ProcessorContext[int, float]) -> None:
        super().init(context)
        self.totals = context.state_store(totals)
        assert_type(self.totals, KeyValueStore[str, int])
        due = context.schedule(timedelta(seconds=1), PunctuationType.STREAM_TIME, self.tick)
        assert_type(due, Cancellable)
        due.cancel()

    def process(self, record: Record[str, Sale]) -> None:
        cents = (self.totals.get(record.key) or 0) + record.value.cents
        self.totals.put(record.key, cents)
        assert_type(self.context, ProcessorContext[int, float])
        self.context.forward(record.with_key(cents).with_value(cents / 100), to=To.child("out"))
        self.context.forward(Record(cents, 0.5, self.context.current_stream_time_ms))

    def tick(self, timestamp_ms: int) -> None:
        for shop, cents in self.totals.all():
            self.context.forward(Record(len(shop), float(cents), timestamp_ms))


class Cents(FixedKeyProcessor[str, Sale, int]):
    """Keeps the key."""

    def process(self, record: Record[str, Sale]) -> None:
        assert_type(record.with_value(record.value.cents), Record[str, int])
        self.context.forward(record.with_value(record.value.cents))


class Untyped(Processor):
    """Says nothing about its types."""

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record.with_value(record.value.whatever))
        self.context.state_store("totals").put(record.key, 1)


class UntypedValues(FixedKeyProcessor):
    """Says nothing about its types."""

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


class AnyKey(Processor[object, Sale, str, str]):
    """Processes the records of more streams than one."""

    def process(self, record: Record[object, Sale]) -> None:
        self.context.forward(Record("a", record.value.customer))


class Declaring(Processor[str, Sale, str, int]):
    """Declares its store, and has metrics of its own."""

    def stores(self) -> list[StoreSpec]:
        return [totals]

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.sold = context.metrics.counter("sold")
        assert_type(self.sold, Counter)
        assert_type(context.metrics.gauge("last"), Gauge)

    def process(self, record: Record[str, Sale]) -> None:
        self.sold.add()
        self.sold.add(2)
        self.context.metrics.gauge("last").set(record.value.cents)
        headers = Headers(record.headers).add("seen", b"yes").remove("secret")
        assert_type(headers, Headers)
        assert_type(headers.last_header("seen"), bytes | None)
        assert_type(headers.values("seen"), list[bytes | None])
        self.context.forward(record.with_value(1).with_headers(headers))


class DeclaringByMethod(FixedKeyProcessor[str, Sale, Sale]):
    """Declares its store."""

    def stores(self) -> tuple[StoreSpec, ...]:
        return (totals,)

    def process(self, record: Record[str, Sale]) -> None:
        print(self.stores(), self.context.state_store(totals).get(record.key))


def make_total() -> Total:
    return Total(9)


assert_type(sales.process(Total, stores=[totals, "other"]), KStream[int, float])
assert_type(sales.process(make_total, stores=[totals]), KStream[int, float])
assert_type(sales.process(lambda: Total(9), stores=[totals], name="total"), KStream[int, float])
assert_type(sales.process(partial(Total, 9)), KStream[int, float])
assert_type(sales.process(AnyKey), KStream[str, str])
assert_type(sales.process(Untyped), KStream[Any, Any])
assert_type(sales.process_values(Cents), KStream[str, int])
assert_type(sales.process_values(lambda: Cents()), KStream[str, int])
assert_type(sales.process_values(UntypedValues), KStream[str, Any])
assert_type(Topology().add_processor("total", Total, parents=["in"]), Topology)
assert_type(Topology().add_processor("total", Total, parents=["in"], stores=[totals]), Topology)
assert_type(sales.process(Declaring), KStream[str, int])
assert_type(sales.process_values(DeclaringByMethod), KStream[str, Sale])
assert_type(StreamsBuilder().add_global_store(totals, "rates", Total, value_serde=serdes.Json(Sale)), StreamsBuilder)
assert_type(StreamsBuilder().add_read_only_state_store(totals, "rates", Total, name="keep"), StreamsBuilder)
assert_type(Topology().add_global_store(totals, "source", "rates", "keep", Total), Topology)
assert_type(Topology().add_read_only_state_store(totals, "source", "rates", "keep", Total), Topology)
assert_type(Topology().connect_processor_and_state_stores("total", "totals"), Topology)


def facts(context: ProcessorContext) -> None:
    assert_type(context.record_metadata.topic, str | None)
    assert_type(context.record_metadata.offset, int)
    task: str = context.task_id
    application: str = context.application_id
    times: list[int] = [context.current_stream_time_ms, context.current_system_time_ms]
    assert_type(context.app_configs_with_prefix("shop."), Mapping[str, Any])
    assert_type(context.app_configs, Mapping[str, Any])
    assert_type(context.key_serde, serdes.Serde[Any])
    assert_type(context.state_dir, Path)
    context.commit()
    print(task, application, times)
