"""Processors that misuse their records, and stores that are misused."""

from __future__ import annotations

from headrace import FixedKeyProcessor, Processor, Record, Stores, Streams, StreamsBuilder, serdes
from tests.typing.model import Customer, Sale

builder = StreamsBuilder()
sales = builder.stream("sales", value_serde=serdes.Json(Sale))
customers = builder.stream("customers", value_serde=serdes.Json(Customer))
totals = Stores.key_value("totals", value_serde=serdes.Long())
rows = Stores.timestamped_key_value("rows", value_serde=serdes.Json(Sale))


class Total(Processor[str, Sale, str, int]):
    def process(self, record: Record[str, Sale]) -> None:
        store = self.context.state_store(totals)
        store.put(1, 1)  # has incompatible type "int"; expected "str" | "Literal[1]" cannot be assigned
        store.put("a", "b")  # has incompatible type "str"; expected "int | None" | "Literal['b']" cannot be assigned
        store.put("a", 1, 12)  # Too many arguments for "put" | Expected 2 positional arguments
        store.gett("a")  # has no attribute "gett" | Cannot access attribute "gett"
        self.context.forward(record)  # expected "Record[str, int]" | "Record[str, Sale]" is not assignable
        self.context.forward(record.with_value(record.value.cent))  # has no attribute "cent" | Cannot access attribute
        self.context.forward(record.with_value(1.5))  # has incompatible type "float" | "float" is not


class Cents(FixedKeyProcessor[str, Sale, int]):
    def process(self, record: Record[str, Sale]) -> None:
        self.context.forward(Record(1, record.value.cents))  # has incompatible type "int" | "int" is not assignable
        self.context.forwrad(record.with_value(1))  # has no attribute "forwrad" | Cannot access attribute "forwrad"


class Other(Processor[str, Sale, str, int]):
    def process(self, record: Record[str, Customer]) -> None:  # incompatible with supertype | overrides class
        print(record)


class WithArgument(Processor[str, Sale, str, int]):
    def __init__(self, threshold: int) -> None:
        self.threshold = threshold

    def process(self, record: Record[str, Sale]) -> None:
        print(record.value.cents > self.threshold)


customers.process(Total)  # has incompatible type "type[Total]" | "type[Total]" is not assignable
customers.process_values(Cents)  # has incompatible type "type[Cents]" | "type[Cents]" is not assignable
sales.process(Total())  # has incompatible type "Total" | "Total" is not assignable
sales.process(WithArgument)  # has incompatible type "type[WithArgument]" | "type[WithArgument]" is not assignable
sales.process_values(Total)  # has incompatible type "type[Total]" | "type[Total]" is not assignable
sales.process(Total).map_values(lambda cents: cents.cents)  # "int" has no attribute | Cannot access attribute "cents"
sales.process(Total, stores=[1])  # List item 0 has incompatible type "int" | "Literal[1]" is not assignable


def queries(app: Streams) -> None:
    app.store(totals).put("a", 1)  # has no attribute "put" | Cannot access attribute "put"
    print(app.store(rows).get("a").cents)  # Item "None" of "Sale | None" has no attribute | "cents" is not a known
    app.store(1)  # No overload variant of "store" | No overloads for "store"
