"""KIP-540. With `allow_stream_time_key_tracking`, every key has a clock of its own.

The rule: the highest timestamp of a key that an operator has seen decides which of the key's records are late, which of
its windows are closed, and which have expired in the store. A key whose clock is ahead has no effect on others. Off by
default: then stream time is Kafka Streams' own.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
import headrace.testing
from headrace import EmitStrategy, SessionWindows, SlidingWindows, StreamsBuilder, TimeWindows, serdes
from headrace._graph.configured import configured

TRACKING = pytest.mark.parametrize("tracking", [True, False], ids=["a clock for each key", "one clock"])


def ms(milliseconds):
    return timedelta(milliseconds=milliseconds)


def shown(records):
    return [(str(record.key), record.value, record.timestamp_ms) for record in records]


def dump(*keys, times=range(4)):
    """All records of one key, then all of the next."""
    return [("in", key, "v", timestamp_ms) for key in keys for timestamp_ms in times]


def counted(windows, strategy=None):
    builder = StreamsBuilder()
    windowed = builder.stream("in").group_by_key().windowed_by(windows)
    if strategy is not None:
        windowed = windowed.emit_strategy(strategy)
    windowed.count(store="counts", name="counter").to_stream().to("out")
    return builder.build()


@TRACKING
def test_records_of_a_key_that_lags_behind_another_are_late_only_if_they_share_a_clock(runtime, tracking):
    outputs, metrics = runtime.run(
        counted(TimeWindows.of(ms(2))), dump("A", "B"), config={"allow_stream_time_key_tracking": tracking}
    )
    of_a = [("[A@0/2]", 1, 0), ("[A@0/2]", 2, 1), ("[A@2/4]", 1, 2), ("[A@2/4]", 2, 3)]
    early = [("[B@0/2]", 1, 0), ("[B@0/2]", 2, 1)] if tracking else []
    assert shown(outputs["out"]) == [*of_a, *early, ("[B@2/4]", 1, 2), ("[B@2/4]", 2, 3)]
    assert metrics.get("counter") == (None if tracking else {"dropped": {"late": 2}})


@TRACKING
def test_windows_of_a_key_close_by_its_own_clock(runtime, tracking):
    """The example of the proposal: windows of size 1, no grace, final results; A@0..3, then B@0..3."""
    topology = counted(TimeWindows.of(ms(1)), EmitStrategy.on_window_close())
    outputs, metrics = runtime.run(topology, dump("A", "B"), config={"allow_stream_time_key_tracking": tracking})
    of_a = [("[A@0/1]", 1, 0), ("[A@1/2]", 1, 1), ("[A@2/3]", 1, 2)]
    of_b = [("[B@0/1]", 1, 0), ("[B@1/2]", 1, 1), ("[B@2/3]", 1, 2)] if tracking else []
    assert shown(outputs["out"]) == [*of_a, *of_b]
    assert metrics.get("counter") == (None if tracking else {"dropped": {"late": 3}})


@pytest.mark.parametrize(
    "windows",
    [
        TimeWindows.of(ms(2)),
        TimeWindows.of(ms(4), advance=ms(1), grace=ms(1)),
        SlidingWindows.of(ms(2)),
        SessionWindows.of(ms(1)),
    ],
    ids=["tumbling", "hopping", "sliding", "session"],
)
@pytest.mark.parametrize("strategy", [EmitStrategy.on_window_update(), EmitStrategy.on_window_close()])
def test_each_key_has_the_results_it_would_have_alone(windows, strategy):
    times = (0, 1, 5, 3, 100, 96, 101, 2, 200)
    together = _on_driver(counted(windows, strategy), dump("A", "B", "C", times=times), tracking=True)
    for key in "ABC":
        alone = _on_driver(counted(windows, strategy), dump(key, times=times), tracking=True)
        assert [record for record in together if record.key.key == key] == alone


def test_windows_of_one_key_do_not_expire_by_the_time_of_another():
    """Retention is by key as well: B's windows must not expire because A is a day ahead."""
    topology = counted(TimeWindows.of(ms(10), grace=ms(10)))
    records = [("in", "B", "v", 1), ("in", "A", "v", 86_400_000), ("in", "B", "v", 2)]
    assert shown(_on_driver(topology, records, tracking=True))[-1] == ("[B@0/10]", 2, 2)


def test_the_stream_times_of_keys_can_be_queried_and_survive_a_restart():
    config = hr.StreamsConfig(application_id="t", allow_stream_time_key_tracking=True)
    with hr.testing.TopologyTestDriver(counted(TimeWindows.of(ms(2))), config) as driver:
        for _, *record in dump("A", "B"):
            driver.input_topic("in").pipe(*record)
        driver.input_topic("in").pipe("B", "v", 7)
        assert list(driver.store("counter-stream-time-table").all()) == [("A", 3), ("B", 7)]
        driver.restart()
        driver.output_topic("out").read_all()
        driver.input_topic("in").pipe("B", "v", 3)
        driver.input_topic("in").pipe("A", "v", 3)
        assert shown(driver.output_topic("out").read_all()) == [("[A@2/4]", 3, 3)]


def test_the_window_store_of_a_processor_expires_by_one_time_for_all_keys():
    builder = StreamsBuilder()
    own = hr.Stores.session("own", retention=ms(5), key_serde=serdes.String(), value_serde=serdes.String())
    builder.stream("in").process(hr.Processor, stores=[own])
    builder.stream("other").group_by_key().windowed_by(SessionWindows.of(ms(5))).count(store="sessions")
    config = hr.StreamsConfig(application_id="t", allow_stream_time_key_tracking=True)
    stores = configured(builder.build()._graph, config).stores
    assert {name: stores[name].by_key for name in ("own", "sessions")} == {"own": False, "sessions": True}


def test_there_is_no_store_of_stream_times_if_the_setting_is_off():
    with (
        hr.testing.TopologyTestDriver(counted(TimeWindows.of(ms(2)))) as driver,
        pytest.raises(hr.StateError, match="Known stores: 'counts'"),
    ):
        driver.store("counter-stream-time-table")


def _on_driver(topology, records, *, tracking):
    config = hr.StreamsConfig(application_id="t", allow_stream_time_key_tracking=tracking)
    with hr.testing.TopologyTestDriver(topology, config) as driver:
        for _, *record in records:
            driver.input_topic("in").pipe(*record)
        return driver.output_topic("out").read_all()
