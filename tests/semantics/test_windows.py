"""Windows: their contents, when they close, which records are late, and where results go."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
import headrace.testing
from headrace import (
    Record,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    TimeWindows,
    TopologyError,
    UnlimitedWindows,
    serdes,
)
from headrace._core.partitioning import partition_for
from tests.support.runtimes import SparkRuntime


def ms(milliseconds):
    return timedelta(milliseconds=milliseconds)


def counted(windows, **options):
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key().windowed_by(windows, **options)
    grouped.count(store="counts", name="counter").to_stream().to("out")
    return builder.build()


def shown(records):
    return [(str(record.key), record.value, record.timestamp_ms) for record in records]


def ticks(*times, key="k"):
    return [("in", key, "v", timestamp_ms) for timestamp_ms in times]


TIMES = (1, 2, 5, 6, 4, 3, 7, 9)


def test_each_window_has_the_highest_timestamp_of_its_records(runtime):
    outputs, _ = runtime.run(counted(TimeWindows.of(ms(5), grace=ms(100))), ticks(*TIMES))
    assert shown(outputs["out"]) == [
        ("[k@0/5]", 1, 1),
        ("[k@0/5]", 2, 2),
        ("[k@5/10]", 1, 5),
        ("[k@5/10]", 2, 6),
        ("[k@0/5]", 3, 4),
        ("[k@0/5]", 4, 4),
        ("[k@5/10]", 3, 7),
        ("[k@5/10]", 4, 9),
    ]


def test_one_window_of_ten_milliseconds_holds_all_eight_records(runtime):
    outputs, _ = runtime.run(counted(TimeWindows.of(ms(10))), ticks(*TIMES))
    highest = (1, 2, 5, 6, 6, 6, 7, 9)
    assert shown(outputs["out"]) == [("[k@0/10]", n, t) for n, t in enumerate(highest, start=1)]


def test_a_late_record_updates_its_window_within_grace_and_is_dropped_and_counted_after_it(runtime):
    outputs, metrics = runtime.run(counted(TimeWindows.of(ms(10), grace=ms(2))), ticks(3, 11, 9, 12, 9, 8))
    assert shown(outputs["out"]) == [
        ("[k@0/10]", 1, 3),
        ("[k@10/20]", 1, 11),
        ("[k@0/10]", 2, 9),
        ("[k@10/20]", 2, 12),
    ]
    assert metrics["counter"] == {"dropped": {"late": 2}}


def test_late_records_go_to_their_topic_with_the_window_they_missed_in_their_headers(runtime):
    topology = counted(TimeWindows.of(ms(10), grace=ms(2)), late_to="late")
    outputs, _ = runtime.run(topology, [*ticks(13), ("in", "j", {"n": 1}, 9, (("trace", b"7"),))])
    assert outputs["late"] == [
        Record(
            "j",
            {"n": 1},
            9,
            (
                ("trace", b"7"),
                ("headrace.window.start", b"0"),
                ("headrace.window.end", b"10"),
                ("headrace.window.close", b"12"),
                ("headrace.stream.time", b"13"),
            ),
        )
    ]
    assert shown(outputs["out"]) == [("[k@10/20]", 1, 13)]


@pytest.mark.parametrize(
    ("windows", "close_ms"),
    [
        (TimeWindows.of(ms(10), grace=ms(2)), 12),
        (hr.SlidingWindows.of(ms(10), grace=ms(2)), 13),
        (hr.SessionWindows.of(ms(10), grace=ms(2)), 22),
    ],
)
def test_late_record_says_at_which_stream_time_its_window_closed(windows, close_ms):
    with hr.testing.TopologyTestDriver(counted(windows, late_to="late")) as driver:
        driver.input_topic("in").pipe("k", 1, 100)
        driver.input_topic("in").pipe("k", 1, 9)
        [late] = driver.output_topic("late").read_all()
    assert dict(late.headers)["headrace.window.close"] == str(close_ms).encode()


def test_sliding_window_that_starts_right_after_the_record_before_is_counted_once_by_a_group():
    """Kafka Streams ends at 1, too: it emits the window twice, the second time with an old value."""
    builder = StreamsBuilder()
    windows = builder.stream("in").group_by_key().windowed_by(hr.SlidingWindows.of(ms(10))).count()
    grouped = windows.group_by(lambda windowed, _: (str(windowed), 1), key_serde=hr.serdes.String())
    grouped.aggregate(
        int, lambda _key, _value, total: total + 1, lambda _key, _value, total: total - 1, store="sizes"
    ).to_stream().to("out")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        for timestamp_ms in (108, 110, 121):
            driver.input_topic("in").pipe("b", 1, timestamp_ms)
        sizes = dict(driver.store("sizes").all())
    assert sizes == dict.fromkeys(("[b@98/108]", "[b@100/110]", "[b@109/119]", "[b@111/121]"), 1)


def test_records_late_before_a_restart_are_late_after_it():
    with hr.testing.TopologyTestDriver(counted(TimeWindows.of(ms(10)))) as driver:
        driver.input_topic("in").pipe("k", "v", 25)
        driver.restart()
        driver.input_topic("in").pipe("k", "v", 5)
        assert shown(driver.output_topic("out").read_all()) == [("[k@20/30]", 1, 25)]
        assert driver.metrics()["counter"] == {"dropped": {"late": 1}}


def test_stores_are_queried_by_key_and_window_start():
    with hr.testing.TopologyTestDriver(counted(TimeWindows.of(ms(10), grace=ms(30)))) as driver:
        for _, key, value, timestamp_ms in ticks(3, 12, 14, 35):
            driver.input_topic("in").pipe(key, value, timestamp_ms)
        counts = driver.store("counts")
        assert (counts.fetch("k", 10), counts.fetch("k", 20)) == (2, None)
        assert list(counts.fetch("k", 0, 30)) == [(0, 1), (10, 2), (30, 1)]
        assert [(str(key), value) for key, value in counts.all()] == [
            ("[k@0/10]", 1),
            ("[k@10/20]", 2),
            ("[k@30/40]", 1),
        ]


def test_sessions_merge_and_unlimited_windows_begin_at_their_start(runtime):
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.windowed_by(SessionWindows.of(ms(5), grace=ms(10))).count().to_stream().to("sessions")
    grouped.windowed_by(UnlimitedWindows.starting_at(5)).count(name="from-5").to_stream().to("unlimited")
    outputs, metrics = runtime.run(builder.build(), ticks(0, 10, 5))
    assert shown(outputs["sessions"]) == [
        ("[k@0/0]", 1, 0),
        ("[k@10/10]", 1, 10),
        ("[k@0/0]", None, 0),
        ("[k@10/10]", None, 10),
        ("[k@0/10]", 3, 10),
    ]
    assert [record.value for record in outputs["unlimited"]] == [1, 2]
    assert metrics["from-5"] == {"dropped": {"before the first window": 1}}


def test_the_first_change_of_a_sliding_window_replaces_nothing():
    """In Kafka Streams it replaces the aggregate that the window was begun with (see deviations.md)."""
    builder = StreamsBuilder()
    windows = builder.stream("in").group_by_key().windowed_by(hr.SlidingWindows.of(timedelta(milliseconds=10)))
    texts = windows.aggregate(lambda: "", lambda key, value, text: text + value)
    one_letter = texts.filter(lambda key, text: len(text) == 1)
    one_letter.to_stream().map(lambda window, text: (str(window.window.start_ms), text)).to("out")
    one_letter.group_by(lambda window, text: ("all", text)).count().to_stream().to("counts")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("a", "x", 10)
        driver.input_topic("in").pipe("a", "y", 15)
        assert driver.output_topic("out").read_all() == [Record("0", "x", 10), Record("11", "y", 15)]
        assert driver.output_topic("counts").read_all() == [Record("all", 1, 10), Record("all", 2, 15)]


def test_a_new_sliding_window_may_have_no_aggregate():
    """The window after the record before is also the one that ends at the record: it is updated twice."""
    builder = StreamsBuilder()
    windows = builder.stream("in").group_by_key().windowed_by(hr.SlidingWindows.of(ms(10)))
    texts = windows.aggregate(lambda: "", lambda key, value, text: None if value == "none" else text + value)
    texts.group_by(lambda window, text: ("all", text)).count().to_stream().to("counts")
    texts.to_stream().map(lambda window, text: (str(window.window.start_ms), text)).to("out")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        for value, timestamp_ms in (("x", 46), ("y", 52), ("none", 63)):
            driver.input_topic("in").pipe("a", value, timestamp_ms)
        assert driver.output_topic("out").read_all() == [
            Record("36", "x", 46),
            Record("47", "y", 52),
            Record("42", "xy", 52),
            Record("53", None, 63),
            Record("53", None, 63),
        ]
        assert driver.output_topic("counts").read_all() == [
            Record("all", 1, 46),
            Record("all", 2, 52),
            Record("all", 3, 52),
        ]


def test_a_final_result_is_emitted_once_when_its_window_closes_even_if_time_jumps(runtime):
    builder = StreamsBuilder()
    windowed = builder.stream("in").group_by_key().windowed_by(TimeWindows.of(ms(10), grace=ms(2)))
    windowed.emit_strategy(hr.EmitStrategy.on_window_close()).count().to_stream().to("out")
    inputs = [*ticks(0, 3), *ticks(1, key="j"), *ticks(11, 5, 100_000)]
    outputs, _ = runtime.run(builder.build(), inputs)
    assert shown(outputs["out"]) == [("[j@0/10]", 1, 1), ("[k@0/10]", 3, 5), ("[k@10/20]", 1, 11)]


@pytest.mark.spark
def test_windowed_results_go_to_the_partition_of_their_inner_key(spark, tmp_path):
    runtime = SparkRuntime(spark, tmp_path, partitions=4)
    inputs = [("in", f"key-{n}", "v", n) for n in range(40)]
    outputs, _ = runtime.run(counted(TimeWindows.of(ms(10))), inputs)
    assert sorted(shown(outputs["out"])) == sorted(
        (f"[key-{n}@{n // 10 * 10}/{n // 10 * 10 + 10}]", 1, n) for n in range(40)
    )
    assert all(record.partition == partition_for(record.key.key.encode(), 4) for record in outputs["out"])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: TimeWindows.of(ms(0)), "size is 0:00:00; it must be at least one millisecond"),
        (lambda: TimeWindows.of(5), "size is 5 of type int; a duration is a timedelta"),
        (lambda: TimeWindows.of(ms(5), advance=ms(6)), "advance is 0:00:00.006000, more than the size"),
        (lambda: TimeWindows.of(ms(5), grace=ms(-1)), "grace is -1 day"),
        (lambda: SlidingWindows.of(ms(0)), "SlidingWindows.of(): difference is 0:00:00"),
        (lambda: SessionWindows.of(ms(0)), "SessionWindows.of(): gap is 0:00:00"),
        (lambda: UnlimitedWindows.starting_at(-1), "was given -1"),
        (lambda: StreamsBuilder().stream("in").group_by_key().windowed_by(5), "windowed_by() was given 5; allowed"),
        (
            lambda: _final(UnlimitedWindows.starting_at(0)),
            "unlimited windows never close",
        ),
        (
            lambda: _stored(hr.Stores.window("s", retention=ms(10), window_size=ms(10))),
            "Store 's' has a retention of 0:00:00.010000",
        ),
        (lambda: _stored(hr.Stores.key_value("s")), "pass a name, or Stores.window(...)"),
    ],
)
def test_invalid_windows_are_refused_when_the_topology_is_built(make, problem):
    with pytest.raises(TopologyError) as refused:
        make()
    assert problem in str(refused.value)


def _final(windows):
    grouped = StreamsBuilder().stream("in").group_by_key().windowed_by(windows)
    return grouped.emit_strategy(hr.EmitStrategy.on_window_close())


def _stored(store):
    windows = TimeWindows.of(ms(10), grace=ms(5))
    return StreamsBuilder().stream("in").group_by_key().windowed_by(windows).count(store=store)


def test_a_longer_retention_keeps_closed_windows_readable():
    builder = StreamsBuilder()
    store = hr.Stores.window("counts", retention=ms(1_000), window_size=ms(10), value_serde=serdes.Long())
    builder.stream("in").group_by_key().windowed_by(TimeWindows.of(ms(10))).count(store=store)
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        for timestamp_ms in (5, 500):
            driver.input_topic("in").pipe("k", "v", timestamp_ms)
        assert driver.store("counts").fetch("k", 0) == 1
