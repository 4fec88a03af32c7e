"""Stores of processors: bounded ones, ones of a user's own class, with headers, read backwards; what is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, StateError, TopologyError, serdes
from headrace.testing import TopologyTestDriver
from tests.property.test_stores_of_processors import RANKING, topology

MS = timedelta(milliseconds=1)
INPUT = [("in", "a", 1, 5), ("in", "b", 2, 6), ("in", "a", 3, 7), ("in", "c", 4, 8), ("in", "a", 5, 6)]


def test_stores_of_every_kind_are_kept(runtime):
    outputs, _ = runtime.run(topology(), INPUT)
    assert [(r.key, r.value, r.timestamp_ms, r.headers) for r in outputs["out"]] == [
        ("a", [[["a", "1"]], [1], 1, [["1", None]]], 5, ()),
        ("b", [[["b", "2"], ["a", "1"]], [2, 1], 2, [["2", None]]], 6, ()),
        ("a", [[["b", "2"], ["a", "1"]], [3, 2, 1], 3, [["1", 7], ["3", None]]], 7, (("value", b"1"),)),
        ("c", [[["c", "4"], ["a", "1"]], [4, 3, 2], 4, [["4", None]]], 8, ()),
        ("a", [[["c", "4"], ["a", "5"]], [5, 4, 3], 5, [["1", 6], ["5", 7]]], 6, (("value", b"3"),)),
    ]


def test_stores_of_every_kind_can_be_read_from_outside():
    with TopologyTestDriver(topology()) as driver:
        for topic, *record in INPUT:
            driver.input_topic(topic).pipe(*record)
        assert driver.store(RANKING) == 5
        assert list(driver.store("recent").reverse_all()) == [("c", "4"), ("a", "5")]
        assert driver.store("last").with_headers().get("a") == ("5", 6, (("value", b"5"),))
        assert list(driver.store("last").with_timestamps().reverse_range("a", "b")) == [
            ("b", ("2", 6)),
            ("a", ("5", 6)),
        ]
        assert list(driver.store("versions").versions("a", descending=True)) == [("3", 7), ("5", 6), ("1", 5)]


def test_the_rows_and_windows_of_the_dsl_can_be_read_backwards_and_with_timestamps():
    builder = hr.StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.count(store="counts")
    grouped.windowed_by(hr.TimeWindows.of(10 * MS, grace=99 * MS)).count(store="windows")
    grouped.windowed_by(hr.SessionWindows.of(3 * MS, grace=99 * MS)).count(store="sessions")
    with TopologyTestDriver(builder.build()) as driver:
        for key, timestamp_ms in [("a", 3), ("b", 12), ("a", 11), ("a", 4)]:
            driver.input_topic("in").pipe(key, "x", timestamp_ms)
        counts, windows, sessions = (driver.store(name) for name in ("counts", "windows", "sessions"))
        assert list(counts.reverse_all()) == [("b", 1), ("a", 3)]
        assert list(counts.with_timestamps().all()) == [("a", (3, 11)), ("b", (1, 12))]
        assert list(windows.backward_fetch("a", 0, 99)) == [(10, 1), (0, 2)]
        assert list(windows.with_timestamps().backward_fetch("a", 0, 99)) == [(10, (1, 11)), (0, (2, 4))]
        assert [str(key) for key, _ in sessions.backward_all()] == ["[b@12/12]", "[a@11/11]", "[a@3/4]"]
        assert [str(key) for key, _ in sessions.find_sessions_by_end(4, 11)] == ["[a@3/4]", "[a@11/11]"]


def test_a_store_written_during_a_reverse_scan_shows_what_lies_ahead(runtime):
    class Editing(hr.Processor):
        def process(self, record):
            rows = self.context.state_store("rows")
            seen = []
            for key, value in rows.reverse_all():
                seen.append([key, value])
                if key == "c":
                    rows.put("b", "changed")
                    rows.put("a", None)
                    rows.put("d", "behind")
            rows.put(record.key, record.value)
            self.context.forward(record.with_value(seen))

    builder = hr.StreamsBuilder()
    rows = hr.Stores.key_value("rows", value_serde=serdes.String())
    builder.stream("in", value_serde=serdes.String()).process(Editing, stores=[rows]).to("out")
    outputs, _ = runtime.run(builder.build(), [("in", key, key.upper(), at) for at, key in enumerate("abcx")])
    assert outputs["out"][3] == Record("x", [["c", "C"], ["b", "changed"]], 3)


def test_an_aggregation_takes_a_timestamped_window_store():
    store = hr.Stores.timestamped_window("counts", retention=100 * MS, window_size=10 * MS, value_serde=serdes.Long())
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by_key().windowed_by(hr.TimeWindows.of(10 * MS)).count(store=store)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("a", "x", 7)
        assert driver.store(store).with_timestamps().fetch("a", 0) == (1, 7)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"window_size": 10 * MS, "retain_duplicates": True},
            "Store 's' has retain_duplicates=True",
        ),
        (
            {"window_size": 5 * MS},
            r"Store 's' has a window_size of 0:00:00\.005000, but TimeWindows.* size of 0:00:00\.010000",
        ),
    ],
)
@pytest.mark.parametrize("kind", [hr.Stores.window, hr.Stores.timestamped_window])
def test_a_window_store_that_does_not_fit_the_aggregation_is_refused(kind, options, expected):
    windowed = hr.StreamsBuilder().stream("in").group_by_key().windowed_by(hr.TimeWindows.of(10 * MS))
    with pytest.raises(TopologyError, match=expected):
        windowed.count(store=kind("s", retention=100 * MS, **options))


@pytest.mark.parametrize("store", [hr.Stores.custom("s", list), hr.Stores.lru_map("s", max_entries=3)])
def test_a_table_refuses_stores_that_cannot_hold_its_rows(store):
    with pytest.raises(TopologyError, match="a table stores rows with timestamps"):
        hr.StreamsBuilder().table("in", store=store)


def test_a_factory_that_fails_is_reported_with_its_store():
    def failing(entries):
        raise ValueError("no")

    builder = hr.StreamsBuilder()
    store = hr.Stores.custom("own", failing)
    builder.stream("in").process(hr.Processor, stores=[store])
    with pytest.raises(StateError, match=r"Store 'own': its factory .*failing.* failed: ValueError: no"):
        TopologyTestDriver(builder.build())
