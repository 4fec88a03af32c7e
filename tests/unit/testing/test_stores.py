"""Stores of the test driver are live, show all tasks, and can be written."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver

MS = timedelta(milliseconds=1)


def counting(store="counts"):
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by_key().count(store=store).to_stream().to("out")
    return builder.build()


def test_a_store_taken_before_the_first_record_shows_later_records():
    with TopologyTestDriver(counting()) as driver:
        counts, topic = driver.store("counts"), driver.input_topic("in")
        assert list(counts.all()) == []
        topic.pipe("a", 1, 10)
        assert counts.get("a") == 1
        topic.pipe("a", 1, 12)
        assert (counts.get("a"), counts.get_with_timestamp("a").timestamp_ms) == (2, 12)
        driver.restart()
        assert counts.get("a") == 2
        topic.pipe("a", 1, 13)
        assert list(counts.all()) == [("a", 3)]


def test_a_store_shows_partitions_that_get_their_first_record_later():
    with TopologyTestDriver(counting()) as driver:
        topic = driver.input_topic("in")
        topic.pipe("a", 1, 10)
        counts, third = driver.store("counts"), driver.store("counts", partition=2)
        topic.pipe("b", 1, 11, partition=2)
        assert list(counts.all()) == [("a", 1), ("b", 1)]
        assert (list(third.all()), third.get("a")) == ([("b", 1)], None)


def test_all_stores_are_listed_and_live():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in")
    stream.group_by_key().count(store="counts")
    stream.group_by_key().reduce(max, store="highest")
    with TopologyTestDriver(builder.build()) as driver:
        stores = driver.stores()
        driver.input_topic("in").pipe("a", 7, 10)
        assert {name: list(store.all()) for name, store in stores.items()} == {
            "counts": [("a", 1)],
            "highest": [("a", 7)],
        }


def test_written_rows_are_used_by_the_operators_and_survive_a_restart():
    with TopologyTestDriver(counting()) as driver:
        counts = driver.store("counts")
        counts.put("a", 41, 50)
        assert driver.output_topic("out").is_empty()
        driver.restart()
        driver.input_topic("in").pipe("a", "x", 12)
        assert driver.output_topic("out").read_all() == [hr.Record("a", 42, 50)]
        assert (counts.put_if_absent("a", 7, 1), counts.put_if_absent("b", 7, 1), counts.delete("a")) == (42, None, 42)
        counts.put_all([("c", 8, 2), ("b", None, 2)])
        assert list(counts.all()) == [("c", 8)]


def test_written_rows_are_joined_also_by_later_stages_of_the_same_sub_topology():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in")
    counts = stream.group_by(lambda key, value: value).count(store="counts")
    stream.select_key(lambda key, value: value).join(counts, lambda value, count: count).to("direct")
    rows = builder.table("rows", store="rows")
    by_value = rows.to_stream().select_key(lambda key, value: value).repartition("by-value")
    by_value.left_join(rows, lambda value, row: row).to("looked-up")
    with TopologyTestDriver(builder.build()) as driver:
        driver.store("counts").put("x", 4, 1)
        driver.store("rows").put("x", "stored", 1)
        driver.input_topic("in").pipe("a", "x", 12)
        driver.input_topic("rows").pipe("a", "x", 13)
        assert driver.output_topic("direct").read_values() == [4]
        assert driver.output_topic("looked-up").read_values() == ["stored"]
        driver.store("rows").delete("x")
        driver.input_topic("rows").pipe("a", "x", 14)
        assert driver.output_topic("looked-up").read_values() == [None]


def test_rows_of_windows_and_sessions_can_be_written():
    builder = hr.StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.windowed_by(hr.TimeWindows.of(10 * MS)).count(store="windows").to_stream().to("windows-out")
    grouped.windowed_by(hr.SessionWindows.of(5 * MS)).count(store="sessions").to_stream().to("sessions-out")
    with TopologyTestDriver(builder.build(), partitions=3) as driver:
        driver.store("windows").put("a", 41, 10, 11)
        driver.store("sessions").put(hr.Windowed("a", hr.Window(8, 11)), 6)
        driver.input_topic("in").pipe("a", "x", 14)
        windows, sessions = (driver.output_topic(f"{name}-out").read_key_values() for name in ("windows", "sessions"))
        assert [(str(key), value) for key, value in windows] == [("[a@10/20]", 42)]
        assert [(str(key), value) for key, value in sessions] == [("[a@8/11]", None), ("[a@8/14]", 7)]


def test_a_global_table_can_be_written():
    builder = hr.StreamsBuilder()
    table = builder.global_table("rows", store="rows")
    builder.stream("in").join(table, lambda value, row: [value, row], key_selector=lambda key, value: key).to("out")
    with TopologyTestDriver(builder.build(), partitions={"in": 3}) as driver:
        driver.store("rows").put("a", "row", 5)
        for partition in range(3):
            driver.input_topic("in").pipe("a", partition, 9, partition=partition)
        assert driver.output_topic("out").read_values() == [[0, "row"], [1, "row"], [2, "row"]]


class Noting(hr.Processor):
    """Forwards what each of its stores has for the key of a record."""

    def process(self, record):
        store = self.context.state_store
        self.context.forward(
            record.with_value(
                [
                    store("values").get(record.key),
                    store("windows").fetch(record.key, 10),
                    [value for _, value in store("sessions").fetch(record.key)],
                    store("versions").get_as_of(record.key, 15).value,
                ]
            )
        )


def test_stores_of_processors_are_written_as_processors_write_them():
    long = serdes.Long()
    stores = [
        hr.Stores.key_value("values", value_serde=long),
        hr.Stores.window("windows", retention=50 * MS, window_size=10 * MS, value_serde=long),
        hr.Stores.session("sessions", retention=50 * MS, value_serde=long),
        hr.Stores.versioned_key_value("versions", history=50 * MS, value_serde=long),
    ]
    builder = hr.StreamsBuilder()
    builder.stream("in").process(Noting, stores=stores).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        values, windows, sessions, versions = (driver.store(spec) for spec in stores)
        values.put_all([("a", 1), ("b", 2)])
        windows.put("a", 2, 10)
        sessions.put(hr.Windowed("a", hr.Window(3, 9)), 3)
        sessions.put(hr.Windowed("a", hr.Window(30, 31)), 9)
        sessions.remove(hr.Windowed("a", hr.Window(30, 31)))
        assert (versions.put("a", 4, 10), versions.put("a", 5, 20)) == (-1, -1)
        driver.input_topic("in").pipe("a", None, 12)
        assert driver.output_topic("out").read_value() == [1, 2, [3], 4]
        assert (values.delete("a"), values.get("a"), windows.fetch("a", 10)) == (1, None, 2)
        assert versions.get("a") == 5


def test_the_clock_of_a_window_store_is_the_same_for_the_test_and_the_processor():
    spec = hr.Stores.window("windows", retention=20 * MS, window_size=10 * MS, value_serde=serdes.Long())

    class Putting(hr.Processor):
        def process(self, record):
            self.context.state_store(spec).put(record.key, record.value, record.timestamp_ms)

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Putting, stores=[spec])
    with TopologyTestDriver(builder.build()) as driver:
        windows, topic = driver.store(spec), driver.input_topic("in")
        topic.pipe("a", 1, 0)
        windows.put("a", 2, 100)
        topic.pipe("a", 3, 50)
        assert [(window.window.start_ms, value) for window, value in windows.all()] == [(100, 2)]


def test_a_write_that_fails_changes_nothing():
    with TopologyTestDriver(counting()) as driver:
        counts = driver.store("counts")
        counts.put("a", 1, 2)
        with pytest.raises(hr.SerdeError):
            counts.put("a", "text", 3)
        with pytest.raises(hr.StateError, match="Store 'counts' cannot store an entry without a key"):
            counts.put(None, 1, 2)
        assert list(counts.all()) == [("a", 1)]


def test_unknown_stores_and_methods_are_named():
    with TopologyTestDriver(counting()) as driver:
        with pytest.raises(hr.StateError, match="Did you mean 'counts'"):
            driver.store("count")
        with pytest.raises(AttributeError, match=r"Store 'counts', a TimestampedKeyValue store, has no 'got'. Did you"):
            driver.store("counts").got("a")
        with pytest.raises(AttributeError, match="has no method 'remove'"):
            driver.store("counts").remove("a")
        assert not hasattr(driver.store("counts"), "fetch")
        assert {"get", "put", "all"} <= set(dir(driver.store("counts")))


def test_what_operators_hold_back_can_only_be_read():
    builder = hr.StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(hr.TimeWindows.of(10 * MS)).count()
    counts.suppress(hr.Suppressed.until_window_closes(), name="final").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("a", "x", 3)
        held = driver.store("final-store")
        assert held.num_rows() == 1
        assert not hasattr(held, "put")
