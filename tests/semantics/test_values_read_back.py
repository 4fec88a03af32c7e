"""Values that JSON does not know: their type is inferred if the topology reveals it, else the first is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, StreamsBuilder, serdes
from headrace.testing import TopologyTestDriver, run_stream, run_table


@dataclass
class Total:
    cents: int = 0
    items: set[str] = field(default_factory=set)

    def add(self, item: str) -> Total:
        return Total(self.cents + len(item), self.items | {item})


def no_total() -> Total:
    return Total()


def test_the_type_of_an_aggregate_is_that_of_its_initializer(runtime):
    builder = StreamsBuilder()
    totals = builder.stream("in").group_by_key().aggregate(Total, lambda key, item, total: total.add(item))
    totals.to_stream().map_values(lambda total: [total.cents, sorted(total.items)]).to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "ab", 1), ("in", "k", "c", 2)])
    assert outputs["out"] == [Record("k", [2, ["ab"]], 1), Record("k", [3, ["ab", "c"]], 2)]


@pytest.mark.parametrize("initializer", [Total, no_total, lambda: Total()])
def test_every_aggregation_infers_the_type_or_refuses_the_first_value(initializer):
    def add(key, item, total):
        return total.add(item)

    def merge(key, left, right):
        return Total(left.cents + right.cents, left.items | right.items)

    windows, sessions = hr.TimeWindows.of(timedelta(seconds=1)), hr.SessionWindows.of(timedelta(seconds=1))
    aggregations = {
        "stream": lambda grouped: grouped.aggregate(initializer, add),
        "windows": lambda grouped: grouped.windowed_by(windows).aggregate(initializer, add),
        "sessions": lambda grouped: grouped.windowed_by(sessions).aggregate(initializer, add, merge),
        "cogroup": lambda grouped: grouped.cogroup(add).aggregate(initializer),
        "windowed cogroup": lambda grouped: grouped.cogroup(add).windowed_by(windows).aggregate(initializer),
        "session cogroup": lambda grouped: grouped.cogroup(add).windowed_by(sessions).aggregate(initializer, merge),
    }
    for aggregation in aggregations.values():

        def last(aggregation=aggregation):
            results = run_stream(
                lambda stream: aggregation(stream.group_by_key()).to_stream(), ("k", "ab", 1), ("k", "c", 2)
            )
            return results[-1].value

        if initializer in (Total, no_total):
            assert last() == Total(3, {"ab", "c"})
        else:
            with pytest.raises(hr.ProcessingError, match=r"Give value_serde=serdes\.Json\(Total\)"):
                last()


def test_a_grouped_table_infers_the_type_too():
    def add(group, item, total):
        return total.add(item)

    def totals(table):
        return table.group_by(lambda key, item: ("g", item)).aggregate(Total, add, lambda g, item, total: total)

    assert [record.value for record in run_table(totals, ("a", "ab", 1), ("b", "c", 2))] == [
        Total(2, {"ab"}),
        Total(3, {"ab", "c"}),
    ]


def test_a_value_that_json_would_change_is_refused_at_a_repartition(runtime):
    builder = StreamsBuilder()
    pairs = builder.stream("in").map(lambda key, value: (value, (key, value)), name="pairs")
    pairs.group_by_key().reduce(lambda first, second: first).to_stream().to("out")
    with pytest.raises(hr.StreamsError, match=r"as a list\. Give value_serde=serdes\.Json\(tuple\[str, str\]\)"):
        runtime.run(builder.build(), [("in", "k", "a", 1)])


def test_a_typed_repartition_gives_the_value_back_as_it_was():
    def first_pairs(stream):
        pairs = stream.map(lambda key, value: (value, (key, value)))
        grouped = pairs.group_by_key(value_serde=serdes.Json(tuple[str, str]))
        return grouped.reduce(lambda first, second: first).to_stream()

    assert run_stream(first_pairs, ("k", "a", 1)) == [Record("a", ("k", "a"), 1)]


def test_an_output_topic_still_takes_typed_values():
    assert run_stream(lambda stream: stream.map_values(lambda value: Total(value, {"x"})), ("k", 1, 1)) == [
        Record("k", {"cents": 1, "items": ["x"]}, 1)
    ]


def test_a_stream_keeps_its_serde_while_the_type_stays():
    def tagged(value: str) -> str:
        return f"<{value}>"

    builder = StreamsBuilder()
    words = builder.stream("in", value_serde=serdes.String()).flat_map_values(str.split).map_values(str.upper)
    words.map_values(tagged).to("texts")
    words.map_values(lambda word: word).to("json")
    words.group_by(lambda key, word: word).reduce(lambda first, second: first + second).to_stream().to("reduced")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "to be", 1)
        raw = [
            [record.value for record in driver.output_topic(topic, value_serde=serdes.Bytes()).read_all()]
            for topic in ("texts", "json", "reduced")
        ]
    assert raw == [[b"<TO>", b"<BE>"], [b'"TO"', b'"BE"'], [b"TO", b"BE"]]


def test_a_table_keeps_its_serde_while_the_type_stays():
    builder = StreamsBuilder()
    builder.table("in", value_serde=serdes.String()).map_values(str.upper).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "a", 1)
        assert driver.output_topic("out", value_serde=serdes.Bytes()).read_all() == [Record("k", b"A", 1)]


def test_a_store_gives_the_same_values_to_a_processor_and_to_a_query():
    seen = []
    totals = hr.Stores.key_value("totals", value_serde=serdes.Json(Total))
    rows = hr.Stores.timestamped_key_value("rows", value_serde=serdes.Json(Total))
    windows = hr.Stores.window(
        "windows",
        retention=timedelta(seconds=1),
        window_size=timedelta(milliseconds=10),
        value_serde=serdes.Json(tuple[int, ...]),
    )

    class Keep(hr.Processor):
        def process(self, record):
            plain, timed, windowed = (self.context.state_store(store) for store in (totals, rows, windows))
            plain.put(record.key, Total(1, {"a"}))
            timed.put(record.key, Total(2), record.timestamp_ms)
            windowed.put(record.key, (1, 2), 0)
            seen[:] = [
                plain.get(record.key),
                list(plain.all()),
                timed.get_with_timestamp(record.key),
                windowed.fetch(record.key, 0),
                list(windowed.all()),
            ]

    builder = StreamsBuilder()
    builder.stream("in").process(Keep, stores=[totals, rows, windows])
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 5)
        plain, timed, windowed = (driver.store(store) for store in (totals, rows, windows))
        assert seen == [
            plain.get("k"),
            list(plain.all()),
            timed.get_with_timestamp("k"),
            windowed.fetch("k", 0),
            list(windowed.all()),
        ]
        assert seen[0] == Total(1, {"a"})
        assert seen[2] == hr.ValueAndTimestamp(Total(2), 5)
        assert type(seen[2]) is hr.ValueAndTimestamp
