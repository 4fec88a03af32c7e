"""Windows of the user's own: daily windows in a time zone, windows of different lengths, gaps, refused windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver

HOUR_MS = 3_600_000
ZURICH = ZoneInfo("Europe/Zurich")


@dataclass(frozen=True)
class DailyWindows(hr.Windows):
    """Calendar days of a time zone."""

    zone: ZoneInfo
    grace: timedelta = timedelta(0)
    size_ms = 25 * HOUR_MS

    def windows_for(self, timestamp_ms):
        day = datetime.fromtimestamp(timestamp_ms / 1000, self.zone).date()
        midnights = (datetime(d.year, d.month, d.day, tzinfo=self.zone) for d in (day, day + timedelta(days=1)))
        return [hr.Window(*(int(midnight.timestamp()) * 1000 for midnight in midnights))]


@dataclass(frozen=True)
class Returning(hr.Windows):
    """Windows from a list: those that contain the timestamp, or all of them."""

    windows: tuple
    everything: bool = False
    size_ms = 10

    def windows_for(self, timestamp_ms):
        return [w for w in self.windows if self.everything or w.start_ms <= timestamp_ms < w.end_ms]


def zurich_ms(*when):
    return int(datetime(*when, tzinfo=ZURICH).timestamp()) * 1000


def windowed(windows, then=lambda grouped: grouped.count(store="rows"), late_to=None):
    builder = hr.StreamsBuilder()
    then(builder.stream("in").group_by_key().windowed_by(windows, late_to=late_to)).to_stream().to("out")
    return builder.build()


def rows(records):
    return [(r.key.key, r.key.window.start_ms, r.key.window.end_ms, r.value, r.timestamp_ms) for r in records]


SPRING = (zurich_ms(2026, 3, 29), zurich_ms(2026, 3, 30))
AUTUMN = (zurich_ms(2026, 10, 25), zurich_ms(2026, 10, 26))
DAYS = [SPRING[0], SPRING[0] + HOUR_MS, SPRING[1] - 1, SPRING[1], AUTUMN[0], AUTUMN[1] - 1, AUTUMN[1]]


def test_days_of_a_time_zone_have_23_and_25_hours_when_the_clocks_change(runtime):
    outputs, _ = runtime.run(windowed(DailyWindows(ZURICH)), [("in", "k", "v", at) for at in DAYS])
    assert (SPRING[1] - SPRING[0], AUTUMN[1] - AUTUMN[0]) == (23 * HOUR_MS, 25 * HOUR_MS)
    assert rows(outputs["out"]) == [
        ("k", *SPRING, 1, SPRING[0]),
        ("k", *SPRING, 2, SPRING[0] + HOUR_MS),
        ("k", *SPRING, 3, SPRING[1] - 1),
        ("k", SPRING[1], SPRING[1] + 24 * HOUR_MS, 1, SPRING[1]),
        ("k", *AUTUMN, 1, AUTUMN[0]),
        ("k", *AUTUMN, 2, AUTUMN[1] - 1),
        ("k", AUTUMN[1], AUTUMN[1] + 24 * HOUR_MS, 1, AUTUMN[1]),
    ]


SUPPRESSED = [
    lambda grouped: grouped.count().suppress(hr.Suppressed.until_window_closes()),
    lambda grouped: grouped.emit_strategy(hr.EmitStrategy.on_window_close()).count(),
]


@pytest.mark.parametrize("final", SUPPRESSED, ids=["suppress", "emit on close"])
def test_a_day_is_final_when_stream_time_reaches_its_end_and_grace_however_long_it_is(final):
    windows = DailyWindows(ZURICH, grace=timedelta(hours=1))
    with TopologyTestDriver(windowed(windows, final)) as driver:
        days, output = driver.input_topic("in"), driver.output_topic("out")
        days.pipe("k", "v", SPRING[0])
        days.pipe("k", "v", SPRING[1] + HOUR_MS - 1)
        assert output.read_all() == []
        driver.restart()
        days.pipe("k", "late but in time", SPRING[1] - 1)
        days.pipe("j", "v", SPRING[1] + HOUR_MS)
        assert rows(output.read_all()) == [("k", *SPRING, 2, SPRING[1] - 1)]
        days.pipe("k", "late", SPRING[1] - 1)
        assert output.read_all() == []
        assert [counts["dropped"] for counts in driver.metrics().values() if "dropped" in counts] == [{"late": 1}]


@pytest.mark.parametrize("final", SUPPRESSED, ids=["suppress", "emit on close"])
def test_final_days_on_every_runtime(runtime, final):
    records = [("in", key, "v", at) for at in DAYS for key in "ab"]
    expected = [(*SPRING, 3), (SPRING[1], SPRING[1] + 24 * HOUR_MS, 1), (*AUTUMN, 2)]
    outputs, _ = runtime.run(windowed(DailyWindows(ZURICH), final), records)
    assert [row[:4] for row in rows(outputs["out"])] == [(key, *row) for row in expected for key in "ab"]


def test_with_a_clock_for_each_key_the_days_of_a_key_close_by_its_own_time():
    config = hr.StreamsConfig(application_id="test", allow_stream_time_key_tracking=True)
    with TopologyTestDriver(windowed(DailyWindows(ZURICH), SUPPRESSED[1]), config) as driver:
        days, output = driver.input_topic("in"), driver.output_topic("out")
        for key, at in [("a", SPRING[0]), ("b", AUTUMN[0]), ("a", SPRING[1] - 1), ("a", SPRING[1])]:
            days.pipe(key, "v", at)
        assert rows(output.read_all()) == [("a", *SPRING, 2, SPRING[1] - 1)]


def test_reduce_aggregate_and_cogroup_use_own_windows_too():
    def joined(grouped):
        return grouped.reduce(lambda left, right: left + right)

    def listed(grouped):
        return grouped.aggregate(list, lambda key, value, values: [*values, value])

    for then, expected in [(joined, ["x", "xy"]), (listed, [["x"], ["x", "y"]])]:
        with TopologyTestDriver(windowed(DailyWindows(ZURICH), then)) as driver:
            driver.input_topic("in").pipe("k", "x", SPRING[0])
            driver.input_topic("in").pipe("k", "y", SPRING[1] - 1)
            assert [row[:4] for row in rows(driver.output_topic("out").read_all())] == [
                ("k", *SPRING, value) for value in expected
            ]
    builder = hr.StreamsBuilder()
    left, right = (builder.stream(topic).group_by_key() for topic in ("left", "right"))
    both = left.cogroup(lambda key, value, seen: f"{seen}l").cogroup(right, lambda key, value, seen: f"{seen}r")
    both.windowed_by(DailyWindows(ZURICH)).aggregate(str).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("left").pipe("k", "x", SPRING[0])
        driver.input_topic("right").pipe("k", "y", SPRING[1] - 1)
        assert [row[3] for row in rows(driver.output_topic("out").read_all())] == ["l", "lr"]


def test_stores_and_serdes_know_where_each_window_ends():
    windows = DailyWindows(ZURICH)
    serde = serdes.WindowedKey(serdes.String(), windows)
    day = hr.Windowed("k", hr.Window(*SPRING))
    assert serde.deserialize(serde.serialize(day)) == day
    with TopologyTestDriver(windowed(windows)) as driver:
        driver.input_topic("in").pipe("k", "v", SPRING[1] - 1)
        assert list(driver.store("rows").all()) == [(day, 1)]


def test_windows_may_overlap_have_gaps_and_different_lengths(runtime):
    windows = Returning((hr.Window(0, 10), hr.Window(4, 6), hr.Window(20, 25)))
    records = [("in", "k", "v", at) for at in (5, 8, 15, 24)]
    outputs, metrics = runtime.run(windowed(windows), records)
    assert rows(outputs["out"]) == [
        ("k", 0, 10, 1, 5),
        ("k", 4, 6, 1, 5),
        ("k", 0, 10, 2, 8),
        ("k", 20, 25, 1, 24),
    ]
    assert [counts["dropped"] for counts in metrics.values() if "dropped" in counts] == [{"in no window": 1}]


def test_late_records_go_to_their_topic_with_the_bounds_of_the_window():
    with TopologyTestDriver(windowed(DailyWindows(ZURICH), late_to="late")) as driver:
        driver.input_topic("in").pipe("k", "v", AUTUMN[0])
        driver.input_topic("in").pipe("k", "late", SPRING[0])
        (late,) = driver.output_topic("late").read_all()
        assert dict(late.headers)["headrace.window.end"] == str(SPRING[1]).encode()


@pytest.mark.parametrize(
    ("windows", "problem"),
    [
        (Returning((hr.Window(0, 5),), everything=True), "required: a Window with start_ms <= 7 < end_ms"),
        (Returning((hr.Window(0, 11),)), "required: no longer than size_ms, 10"),
        (Returning((hr.Window(7, 9), hr.Window(7, 10))), "required: windows with different starts"),
    ],
)
def test_windows_that_would_lose_results_are_refused(windows, problem):
    with TopologyTestDriver(windowed(windows)) as driver, pytest.raises(hr.ProcessingError, match=problem):
        driver.input_topic("in").pipe("k", "v", 7)


def test_malformed_windows_are_refused_when_the_topology_is_built():
    class Sizeless(hr.Windows):
        def windows_for(self, timestamp_ms):
            return []

    class Graceless(Sizeless):
        size_ms = 10
        grace = 5

    for windows, problem in [
        (Sizeless(), "size_ms of .* is None"),
        (Graceless(), "grace of .* is 5 of type int"),
        (DailyWindows, r"the class DailyWindows; pass an object: DailyWindows\(...\)"),
        ("daily", "or an object of your own subclass of Windows"),
    ]:
        with pytest.raises(hr.TopologyError, match=problem):
            windowed(windows)
