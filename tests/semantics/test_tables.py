"""Tables: rows by key, changes in the order of the topic, stores only where they are needed."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
import headrace.testing
from headrace import Record, StreamsBuilder, TopologyError, serdes


def test_out_of_order_updates_are_applied_and_keep_their_own_timestamp(runtime):
    builder = StreamsBuilder()
    builder.table("in", store="rows").to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "a", 10), ("in", "k", "b", 5), ("in", "k", None, 7)])
    assert outputs["out"] == [Record("k", "a", 10), Record("k", "b", 5), Record("k", None, 7)]


def test_records_without_a_key_are_dropped_and_counted(runtime):
    builder = StreamsBuilder()
    builder.table("in", name="rows").to_stream().to("out")
    outputs, metrics = runtime.run(builder.build(), [("in", None, "a", 1), ("in", "k", "b", 2)])
    assert outputs["out"] == [Record("k", "b", 2)]
    assert metrics["rows"] == {"dropped": {"null key": 1}}


def test_stores_hold_the_rows_of_a_table_and_of_tables_derived_from_it():
    builder = StreamsBuilder()
    table = builder.table("in", store="rows")
    table.filter(lambda key, value: value > 1, store="large").map_values(lambda value: -value, store="negated")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        for key, value, timestamp_ms in [
            ("a", 1, 1),
            ("b", 2, 2),
            ("c", 3, 3),
            ("b", 1, 4),
            ("c", None, 5),
            ("d", 4, 6),
        ]:
            driver.input_topic("in").pipe(key, value, timestamp_ms)
        assert list(driver.store("rows").all()) == [("a", 1), ("b", 1), ("d", 4)]
        assert list(driver.store("large").all()) == [("d", 4)]
        assert list(driver.store("negated").all()) == [("d", -4)]
        assert driver.store("large").get_with_timestamp("d") == (4, 6)


def test_an_unnamed_table_whose_old_values_are_not_needed_has_no_store():
    builder = StreamsBuilder()
    builder.table("in").filter(lambda key, value: value > 1).to_stream().to("out")
    assert builder.build()._graph.stores == {}


def test_a_table_gets_a_store_if_a_later_operator_needs_old_values():
    builder = StreamsBuilder()
    table = builder.table("in")
    table.filter(lambda key, value: value > 1).to_stream().to("out")
    table.map_values(str).group_by(lambda key, value: (value, key)).count(store="counts").to_stream().to("counts")
    assert sorted(builder.build()._graph.stores) == ["counts", "in-STATE-STORE-0000000000"]


def test_a_row_deleted_at_its_own_time_stays_deleted_when_an_older_row_comes():
    """In Kafka Streams the older row is the latest then (see deviations.md)."""
    builder = StreamsBuilder()
    table = builder.table("table", store=hr.Stores.versioned_key_value("rows", history=timedelta(milliseconds=100)))
    builder.stream("stream").left_join(table, lambda value, row: f"{value}/{row}").to("out")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        for value, timestamp_ms in (("y", 5), (None, 5), ("x", 1)):
            driver.input_topic("table").pipe("a", value, timestamp_ms)
        for timestamp_ms in (9, 3):
            driver.input_topic("stream").pipe("a", "s", timestamp_ms)
        assert driver.output_topic("out").read_all() == [Record("a", "s/None", 9), Record("a", "s/x", 3)]


def test_a_topic_may_be_read_as_a_stream_and_as_a_table(runtime):
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: f"stream {value}").to("out")
    builder.table("in").map_values(lambda value: f"table {value}").to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "a", 1), ("in", "k", "b", 2)])
    assert outputs["out"] == [
        Record("k", "stream a", 1),
        Record("k", "table a", 1),
        Record("k", "stream b", 2),
        Record("k", "table b", 2),
    ]


def test_table_aggregates_that_share_a_named_grouping_share_its_repartition(runtime):
    builder = StreamsBuilder()
    grouped = builder.table("in").group_by(lambda key, value: (value, key), name="by-value")
    grouped.count(store="sizes").to_stream().to("sizes")
    grouped.reduce(lambda keys, key: keys + key, lambda keys, key: keys.replace(key, "")).to_stream().to("keys")
    topology = builder.build()
    assert topology.describe().count("topic: by-value-repartition)") == 1
    outputs, _ = runtime.run(topology, [("in", "a", "x", 1), ("in", "b", "x", 2), ("in", "a", "y", 3)])
    assert outputs["sizes"] == [Record("x", 1, 1), Record("x", 2, 2), Record("x", 1, 3), Record("y", 1, 3)]
    assert outputs["keys"] == [Record("x", "a", 1), Record("x", "ab", 2), Record("x", "b", 3), Record("y", "a", 3)]


def test_a_store_of_another_kind_is_refused_and_the_error_lists_the_allowed_kinds():
    with pytest.raises(TopologyError, match=r"table\(\) cannot use store=KeyValue.*Stores\.timestamped_key_value"):
        StreamsBuilder().table("in", store=hr.Stores.key_value("rows"))


def test_the_serdes_of_a_store_description_are_used():
    builder = StreamsBuilder()
    described = hr.Stores.timestamped_key_value("rows", value_serde=serdes.Long())
    builder.table("in", value_serde=serdes.Json(), store=described)
    store = builder.build()._graph.stores["rows"]
    assert (store.key_serde, store.value_serde) == (None, serdes.Long())


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("filter", lambda table: table.filter(None)),
        ("filter_not", lambda table: table.filter_not(1)),
        ("map_values", lambda table: table.map_values("x")),
        ("map_values_with_key", lambda table: table.map_values_with_key("x")),
        ("group_by", lambda table: table.group_by(7)),
        ("aggregate", lambda table: table.group_by(lambda k, v: (k, v)).aggregate(int, 1, 2)),
        ("reduce", lambda table: table.group_by(lambda k, v: (k, v)).reduce(lambda a, b: a, None)),
    ],
)
def test_an_argument_that_is_not_a_function_is_refused_when_the_topology_is_built(operation, call):
    with pytest.raises(TopologyError, match=rf"{operation}\(\) needs a function"):
        call(StreamsBuilder().table("in"))


def test_the_error_of_a_group_by_that_returns_no_pair_names_the_operator():
    builder = StreamsBuilder()
    builder.table("in").group_by(lambda key, value: key, name="by-key").count().to_stream().to("out")
    with (
        hr.testing.TopologyTestDriver(builder.build()) as driver,
        pytest.raises(
            hr.ProcessingError, match=r"by-key: the function given to group_by\(\) must return \(key, value\)"
        ),
    ):
        driver.input_topic("in").pipe("k", "v", 1)
