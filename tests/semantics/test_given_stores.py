"""Stores given as specs: versioned results, stores of aggregations, and what is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import (
    Record,
    SlidingWindows,
    Stores,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    TopologyError,
    UnlimitedWindows,
    serdes,
)
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import DriverRuntime
from tests.support.steps import each_step, slashed

MS = timedelta(milliseconds=1)


def versioned(history_ms=100):
    return Stores.versioned_key_value("rows", history=history_ms * MS)


def test_a_versioned_aggregate_is_joined_as_of_the_time_of_the_record(runtime):
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count(store=versioned())
    builder.stream("stream").join(counts, slashed).to("out")
    counted = [("in", "a", 1, timestamp_ms) for timestamp_ms in (10, 20, 5)]
    outputs, _ = runtime.run(builder.build(), [*counted, ("stream", "a", "s", 20), ("stream", "a", "t", 19)])
    assert outputs == {"out": [Record("a", "s/3", 20), Record("a", "t/1", 19)]}


def test_a_result_older_than_the_history_is_dropped_and_counted():
    builder = StreamsBuilder()
    builder.table("in").filter(lambda key, value: True, store=versioned(10), name="filter").to_stream().to("out")
    steps = [("in", "a", "x", 30), ("in", "a", "y", 25), ("in", "a", "z", 15)]
    outputs, metrics = DriverRuntime().run(builder.build(), steps)
    assert outputs == {"out": [Record("a", "x", 30), Record("a", "y", 25)]}
    assert metrics["filter"]["dropped"] == {"older than the history of the versioned store": 1}


def test_the_latest_version_of_a_versioned_result_is_what_queries_read():
    builder = StreamsBuilder()
    builder.table("left").join(builder.table("right"), slashed, store=versioned())
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("left").pipe("k", "l", 10)
        driver.input_topic("right").pipe("k", "r", 20)
        rows = driver.store("rows")
        assert (rows.get("k"), rows.get_as_of("k", 19)) == ("l/r", None)


def test_after_a_versioned_result_a_table_is_versioned_and_after_a_plain_one_it_is_not():
    builder = StreamsBuilder()
    source = builder.table("in", store=Stores.versioned_key_value("source", history=100 * MS))
    plain = source.map_values(str.upper, store="plain")
    again = plain.map_values(str.lower, store=Stores.versioned_key_value("again", history=100 * MS))
    builder.stream("stream").join(plain, slashed).to("plain-out")
    builder.stream("stream").join(again, slashed).to("out")
    steps = [("in", "a", "x", 10), ("in", "a", "y", 20), ("stream", "a", "s", 12)]
    outputs, _ = DriverRuntime().run(builder.build(), steps)
    assert outputs == {"plain-out": [Record("a", "s/Y", 12)], "out": [Record("a", "s/x", 12)]}


AGGREGATIONS = [
    lambda grouped, store: grouped.count(store=store),
    lambda grouped, store: grouped.reduce(max, store=store),
    lambda grouped, store: grouped.aggregate(int, lambda key, value, total: total + value, store=store),
    lambda grouped, store: grouped.cogroup(lambda key, value, total: total + value).aggregate(int, store=store),
]


@pytest.mark.parametrize("aggregate", AGGREGATIONS)
def test_an_aggregation_uses_the_store_it_is_given(aggregate):
    builder = StreamsBuilder()
    store = Stores.timestamped_key_value("rows", value_serde=serdes.Int())
    table = aggregate(builder.stream("in").group_by_key(), store)
    table.to_stream().to("out")
    assert table.queryable_store_name == "rows"
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("a", 1, timestamp_ms=7)
        assert driver.store("rows").get("a") == 1
        assert driver.output_topic("out").read_all() == [Record("a", 1, 7)]


def test_a_count_in_a_store_with_other_numbers_is_the_same_in_batches(runtime):
    builder = StreamsBuilder()
    store = Stores.timestamped_key_value("rows", value_serde=serdes.Json())
    builder.stream("in").group_by_key().count(store=store).to_stream().to("out")
    windows = TimeWindows.of(10 * MS)
    numbers = Stores.window("windows", retention=100 * MS, window_size=10 * MS, value_serde=serdes.Json())
    builder.stream("other").group_by_key().windowed_by(windows).count(store=numbers).to_stream(
        lambda windowed, _: windowed.key
    ).to("windowed")
    outputs, _ = runtime.run(builder.build(), [(topic, "a", "x", at) for topic in ("in", "other") for at in (1, 2)])
    counted = [Record("a", 1, 1), Record("a", 2, 2)]
    assert outputs == {"out": counted, "windowed": counted}


def refused(aggregate, message):
    with pytest.raises(TopologyError, match=message):
        aggregate(StreamsBuilder().stream("in").group_by_key())


def test_a_store_that_does_not_fit_is_refused():
    fitting = r"pass a name, or Stores.timestamped_key_value\(...\) or Stores.versioned_key_value\(...\)"
    refused(lambda grouped: grouped.count(store=Stores.key_value("x")), rf"count\(\) cannot use store=.*{fitting}")
    session = Stores.session("x", retention=MS)
    refused(lambda grouped: grouped.reduce(max, store=session), rf"reduce\(\) cannot use store=.*{fitting}")
    refused(lambda grouped: grouped.aggregate(int, max, store=7), rf"aggregate\(\) cannot use store=7.*{fitting}")
    with pytest.raises(TopologyError, match=r"global_table\(\) cannot use store="):
        StreamsBuilder().global_table("in", store=versioned())
    table = StreamsBuilder().stream("in").group_by_key().count(store=versioned())
    with pytest.raises(TopologyError, match=r"suppress\(\) of .* was given a versioned table"):
        table.suppress(Suppressed.until_time_limit(MS))


def test_options_of_a_window_store_that_would_have_no_effect_are_refused():
    def count(windows, **options):
        store = Stores.window("x", retention=timedelta(seconds=1), **options)
        return lambda grouped: grouped.windowed_by(windows).count(store=store)

    tumbling = TimeWindows.of(10 * MS)
    refused(count(tumbling, window_size=20 * MS), r"window_size of 0:00:00.020000, but .* size of 0:00:00.010000")
    refused(count(SlidingWindows.of(5 * MS), window_size=6 * MS), "has a window_size of 0:00:00.006000")
    duplicates = count(tumbling, window_size=10 * MS, retain_duplicates=True)
    refused(duplicates, "has retain_duplicates=True, but a windowed aggregation stores one aggregate")
    fitting = Stores.window("x", retention=10 * MS, window_size=10 * MS)
    assert StreamsBuilder().stream("in").group_by_key().windowed_by(tumbling).count(store=fitting)


def test_a_store_that_forgets_is_refused_for_unlimited_windows():
    store = Stores.window("x", retention=timedelta(days=1), window_size=MS)
    unlimited = UnlimitedWindows.starting_at(0)
    refused(lambda grouped: grouped.windowed_by(unlimited).count(store=store), "unlimited windows never expire")


def test_tables_know_the_name_of_their_store_if_it_was_given():
    builder = StreamsBuilder()
    source, stored = builder.table("in"), builder.table("other", store="others")
    grouped = builder.stream("stream").group_by_key()
    assert source.queryable_store_name is None
    assert stored.queryable_store_name == "others"
    assert stored.filter(slashed, store="filtered").queryable_store_name == "filtered"
    assert stored.map_values(str).queryable_store_name is None
    assert stored.transform_values(int).queryable_store_name is None
    assert stored.join(source, slashed, store="joined").queryable_store_name == "joined"
    assert stored.join(source, slashed, foreign_key=slashed, store="foreign").queryable_store_name == "foreign"
    assert stored.join(source, slashed, foreign_key=slashed).queryable_store_name is None
    assert builder.stream("stream").to_table(store="rows").queryable_store_name == "rows"
    assert grouped.count().queryable_store_name is None
    assert grouped.windowed_by(TimeWindows.of(MS)).count(store="windows").queryable_store_name == "windows"
    assert stored.group_by(slashed).count(store="groups").queryable_store_name == "groups"
    assert builder.global_table("pages").queryable_store_name is None
    assert builder.global_table("more-pages", store="pages").queryable_store_name == "pages"


def test_a_versioned_result_keeps_late_versions_from_groups():
    builder = StreamsBuilder()
    rows = builder.table("in").map_values(str, store=versioned())
    rows.group_by(lambda key, value: (value, value)).count().to_stream().to("out")
    steps = [("in", "1", "x", 10), ("in", "1", "y", 5), ("in", "1", "z", 20)]
    assert each_step(builder.build(), steps) == [["x=1@10"], [], ["x=0@20", "z=1@20"]]
