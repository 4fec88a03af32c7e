"""cogroup: several grouped streams folded into one table, each by its own aggregator, on one shared store.

Records that are in several inputs at the same time are processed in the order of their timestamps; in tests that also
run on Spark, records are in that order.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import SessionWindows, SlidingWindows, StreamsBuilder, Suppressed, TimeWindows, UnlimitedWindows, serdes
from headrace.testing import TopologyTestDriver
from tests.support.plan_runner import PlanRunner


def ms(milliseconds):
    return timedelta(milliseconds=milliseconds)


def added(key, value, text):
    return text + value


def starred(key, value, text):
    """As `added`, with a star to distinguish the input; `del` deletes."""
    return None if value == "del" else f"{text}*{value}"


def merged(key, left, right):
    return f"({left}&{right})"


def two(builder):
    first, second = builder.stream("in").group_by_key(), builder.stream("other").group_by_key()
    return first.cogroup(added).cogroup(second, starred)


def topology_of(make):
    """A topology that writes the table which `make` builds from a cogroup of two streams."""
    builder = StreamsBuilder()
    make(two(builder)).to_stream().to("out")
    return builder.build()


def steps(text, key="k"):
    """Records from text such as "in|a@5", with the key k, or "in|j=a@5"."""
    listed = []
    for word in text.split():
        topic, rest = word.split("|")
        value, timestamp_ms = rest.split("@")
        *other, value = value.split("=")
        listed.append((topic, other[0] if other else key, None if value == "_" else value, int(timestamp_ms)))
    return listed


def pipe(driver, text):
    for topic, *record in steps(text):
        driver.input_topic(topic).pipe(*record)
    return shown(driver.output_topic("out").read_all())


def shown(records):
    return [(str(record.key), record.value, record.timestamp_ms) for record in records]


def test_every_record_of_every_input_updates_the_shared_row_at_the_highest_timestamp():
    with TopologyTestDriver(topology_of(lambda both: both.aggregate(str, store="both"))) as driver:
        assert pipe(driver, "in|1@5 other|x@3 in|2@1") == [("k", "1", 5), ("k", "1*x", 5), ("k", "1*x2", 5)]
        assert driver.store("both").get("k") == "1*x2"


def test_driver_and_spark_fold_both_inputs_into_one_row(runtime):
    inputs = steps("in|1@5 in|j=a@5 in|2@1 other|x@6 other|y@3 in|3@7 other|j=z@8 in|_@9")
    outputs, metrics = runtime.run(topology_of(lambda both: both.aggregate(str, name="both")), inputs)
    assert shown(outputs["out"]) == [
        ("k", "1", 5),
        ("j", "a", 5),
        ("k", "12", 5),
        ("k", "12*x", 6),
        ("k", "12*x*y", 6),
        ("k", "12*x*y3", 7),
        ("j", "a*z", 8),
    ]
    assert metrics["both-cogroup-agg-0"] == {"dropped": {"null value": 1}}
    assert "both-cogroup-agg-1" not in metrics


def test_a_row_deleted_by_one_input_starts_from_nothing_with_the_next_record_of_any_input():
    with TopologyTestDriver(topology_of(lambda both: both.aggregate(str, store="both"))) as driver:
        assert pipe(driver, "in|1@10 other|del@5") == [("k", "1", 10), ("k", None, 10)]
        assert driver.store("both").get("k") is None
        assert pipe(driver, "in|2@3 other|x@2") == [("k", "2", 3), ("k", "2*x", 3)]


def test_a_row_and_its_timestamp_survive_a_restart():
    with TopologyTestDriver(topology_of(lambda both: both.aggregate(str))) as driver:
        pipe(driver, "in|1@5 other|x@7")
        driver.restart()
        assert pipe(driver, "in|2@1 other|y@2") == [("k", "1*x2", 7), ("k", "1*x2*y", 7)]


def test_aggregate_may_be_changed_in_place_by_every_aggregator():
    builder = StreamsBuilder()
    first, second = builder.stream("in").group_by_key(), builder.stream("other").group_by_key()
    both = first.cogroup(lambda key, value, seen: seen.append(value) or seen)
    both = both.cogroup(second, lambda key, value, seen: seen.insert(0, value) or seen)
    rows = both.aggregate(list).group_by(lambda key, seen: ("all", seen))
    rows.aggregate(str, lambda _, seen, text: f"{text}+{seen}", lambda _, seen, text: f"{text}-{seen}").to_stream().to(
        "out"
    )
    with TopologyTestDriver(builder.build()) as driver:
        assert [value for _, value, _ in pipe(driver, "in|1@1 other|x@2")] == ["+['1']", "+['1']-['1']+['x', '1']"]


def test_changes_of_all_inputs_have_their_old_value(runtime):
    """A table aggregation after a cogroup subtracts what it had added, whichever input changes the row."""

    def by_length(both):
        grouped = both.aggregate(str).group_by(lambda key, text: (str(len(text)), text))
        return grouped.aggregate(str, lambda _, v, text: f"{text}+{v}", lambda _, v, text: f"{text}-{v}")

    outputs, _ = runtime.run(topology_of(by_length), steps("in|a@1 other|b@2 in|j=c@3 other|del@4 in|d@5"))
    assert shown(outputs["out"]) == [
        ("1", "+a", 1),
        ("1", "+a-a", 2),
        ("3", "+a*b", 2),
        ("1", "+a-a+c", 3),
        ("3", "+a*b-a*b", 4),
        ("1", "+a-a+c+d", 5),
    ]


def test_table_of_a_cogroup_is_filtered_and_mapped_like_any_other():
    def long_ones(both):
        return both.aggregate(str).filter(lambda key, text: len(text) > 1).map_values(str.upper)

    with TopologyTestDriver(topology_of(long_ones)) as driver:
        assert pipe(driver, "in|a@1 other|b@2 other|del@3 other|del@4 in|c@5") == [("k", "A*B", 2), ("k", None, 3)]


def test_rows_of_a_cogroup_are_looked_up_by_joins():
    builder = StreamsBuilder()
    texts = two(builder).aggregate(str)
    builder.stream("stream").join(texts, lambda value, text: f"{value}={text}").to("looked-up")
    texts.join(builder.table("table"), lambda text, row: f"{text}/{row}").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        assert pipe(driver, "in|a@1 table|r@2 other|b@3 table|s@4 stream|v@0") == [
            ("k", "a/r", 2),
            ("k", "a*b/r", 3),
            ("k", "a*b/s", 4),
        ]
        assert shown(driver.output_topic("looked-up").read_all()) == [("k", "v=a*b", 0)]


def test_stream_cogrouped_under_two_keys_folds_its_own_key_first(runtime):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    by_head = stream.group_by(lambda key, value: value[0])
    stream.group_by_key().cogroup(added).cogroup(by_head, starred).aggregate(str).to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), steps("in|p=px@1 in|p=qx@2 in|q=py@1"))
    assert shown(outputs["out"]) == [
        ("p", "px", 1),
        ("p", "px*px", 1),
        ("p", "px*pxqx", 2),
        ("q", "*qx", 2),
        ("q", "*qxpy", 2),
        ("p", "px*pxqx*py", 2),
    ]


def test_streams_with_different_values_and_serdes_are_folded_into_one_row():
    builder = StreamsBuilder()
    numbers = builder.stream("numbers", value_serde=serdes.Long()).group_by_key()
    words = builder.stream("words", value_serde=serdes.String()).group_by(lambda key, word: word[0])
    both = numbers.cogroup(lambda key, number, seen: {**seen, "sum": seen.get("sum", 0) + number})
    both = both.cogroup(words, lambda key, word, seen: {**seen, "words": [*seen.get("words", []), word]})
    both.aggregate(dict, store="seen").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("numbers").pipe("a", 3, 1)
        driver.input_topic("words").pipe("x", "alpha", 2)
        driver.input_topic("numbers").pipe("a", 4, 3)
        assert driver.store("seen").get("a") == {"sum": 7, "words": ["alpha"]}


def windowed(windows, *merger, **options):
    return lambda both: both.windowed_by(windows).aggregate(str, *merger, store="windows", name="both", **options)


def test_time_windows_of_both_inputs_are_the_same_windows(runtime):
    inputs = steps("in|a@1 other|b@4 in|c@12 other|d@12 other|e@3 in|f@13")
    outputs, _ = runtime.run(topology_of(windowed(TimeWindows.of(ms(10), grace=ms(5)))), inputs)
    assert shown(outputs["out"]) == [
        ("[k@0/10]", "a", 1),
        ("[k@0/10]", "a*b", 4),
        ("[k@10/20]", "c", 12),
        ("[k@10/20]", "c*d", 12),
        ("[k@0/10]", "a*b*e", 4),
        ("[k@10/20]", "c*df", 13),
    ]


def test_sessions_of_both_inputs_merge():
    with TopologyTestDriver(topology_of(windowed(SessionWindows.of(ms(5), grace=ms(10)), merged))) as driver:
        assert pipe(driver, "in|a@0 other|b@10 in|c@5") == [
            ("[k@0/0]", "a", 0),
            ("[k@10/10]", "*b", 10),
            ("[k@0/0]", None, 0),
            ("[k@10/10]", None, 10),
            ("[k@0/10]", "((&a)&*b)c", 10),
        ]
        assert [(str(session), text) for session, text in driver.store("windows").all()] == [("[k@0/10]", "((&a)&*b)c")]


def test_sliding_and_unlimited_windows_hold_both_inputs():
    with TopologyTestDriver(topology_of(windowed(SlidingWindows.of(ms(10), grace=ms(100))))) as driver:
        assert pipe(driver, "in|a@15 other|b@20") == [
            ("[k@5/15]", "a", 15),
            ("[k@16/26]", "*b", 20),
            ("[k@10/20]", "a*b", 20),
        ]
    with TopologyTestDriver(topology_of(windowed(UnlimitedWindows.starting_at(5)))) as driver:
        assert [value for _, value, _ in pipe(driver, "in|a@4 other|b@5 in|c@500")] == ["*b", "*bc"]
        assert driver.metrics()["both-cogroup-agg-0"] == {"dropped": {"before the first window": 1}}


def test_each_input_is_late_by_its_own_stream_time_which_late_records_have_in_their_headers():
    builder = StreamsBuilder()
    windows = two(builder).windowed_by(TimeWindows.of(ms(10), grace=ms(10)), late_to="late")
    windows.aggregate(str, name="both").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        assert pipe(driver, "in|a@1 in|b@15 other|x@2 in|c@20 in|d@3 other|y@4") == [
            ("[k@0/10]", "a", 1),
            ("[k@10/20]", "b", 15),
            ("[k@0/10]", "a*x", 2),
            ("[k@20/30]", "c", 20),
            ("[k@0/10]", "*y", 4),  # not late in its own input, but the window has expired in the store
        ]
        late = driver.output_topic("late").read_all()
        assert [(record.value, dict(record.headers)["headrace.stream.time"]) for record in late] == [("d", b"20")]
        assert driver.metrics()["both-cogroup-agg-0"] == {"dropped": {"late": 1}}


def test_store_with_a_longer_retention_lets_one_input_lag_behind():
    store = hr.Stores.window("windows", retention=ms(1_000), window_size=ms(10))
    make = lambda both: both.windowed_by(TimeWindows.of(ms(10))).aggregate(str, store=store)  # noqa: E731
    with TopologyTestDriver(topology_of(make)) as driver:
        assert pipe(driver, "in|a@1 in|b@500 other|x@2") == [
            ("[k@0/10]", "a", 1),
            ("[k@500/510]", "b", 500),
            ("[k@0/10]", "a*x", 2),
        ]


def test_stream_times_of_both_inputs_survive_a_restart():
    with TopologyTestDriver(topology_of(windowed(TimeWindows.of(ms(10), grace=ms(30))))) as driver:
        pipe(driver, "in|a@45 other|x@30")
        driver.restart()
        assert pipe(driver, "in|b@4 other|y@4") == [("[k@0/10]", "*y", 4)]
        assert driver.metrics()["both-cogroup-agg-0"] == {"dropped": {"late": 1}}


def test_suppress_after_a_windowed_cogroup_waits_for_the_grace(runtime):
    def final(both):
        texts = both.windowed_by(TimeWindows.of(ms(10), grace=ms(5))).aggregate(str)
        return texts.suppress(Suppressed.until_window_closes())

    outputs, _ = runtime.run(topology_of(final), steps("in|a@1 other|b@4 in|c@12 other|d@14 other|e@3 in|f@15 in|g@31"))
    assert shown(outputs["out"]) == [("[k@0/10]", "a*b*e", 4), ("[k@10/20]", "c*df", 15)]


def test_suppress_until_windows_close_is_refused_without_windows():
    with pytest.raises(hr.TopologyError, match="without a windowed aggregation in between"):
        topology_of(lambda both: both.aggregate(str).suppress(Suppressed.until_window_closes()))


TRACKING = {"allow_stream_time_key_tracking": True}


def test_with_a_clock_for_each_key_the_shared_store_expires_windows_key_by_key():
    config = hr.StreamsConfig(application_id="t", **TRACKING)
    with TopologyTestDriver(topology_of(windowed(TimeWindows.of(ms(10), grace=ms(10)))), config) as driver:
        assert len(pipe(driver, "in|k=a@1 in|j=b@86400000 other|j=c@86400000")) == 3
        assert pipe(driver, "other|k=x@2 in|k=d@3") == [("[k@0/10]", "a*x", 2), ("[k@0/10]", "a*xd", 3)]
        times = [dict(driver.store(f"both-cogroup-agg-{n}-stream-time-table").all()) for n in (0, 1)]
        assert times == [{"j": 86_400_000, "k": 3}, {"j": 86_400_000, "k": 2}]


@pytest.mark.parametrize("config", [{}, TRACKING], ids=["one clock", "a clock for each key"])
def test_a_window_that_one_input_has_moved_past_is_expired_for_the_other(config):
    """All inputs advance the time by which the store expires windows; with a clock for each key, that of the key."""
    topology = topology_of(windowed(TimeWindows.of(ms(10), grace=ms(10))))
    with TopologyTestDriver(topology, hr.StreamsConfig(application_id="t", **config)) as driver:
        pipe(driver, "in|a@1 in|b@500")
        assert pipe(driver, "other|x@2 other|y@3") == [("[k@0/10]", "*x", 2), ("[k@0/10]", "*y", 3)]
        assert [(str(window), text) for window, text in driver.store("windows").all()] == [("[k@500/510]", "b")]


def test_a_key_is_idle_only_if_it_is_silent_in_every_input():
    config = hr.StreamsConfig(application_id="t", stream_time_key_idle=ms(50), **TRACKING)
    with TopologyTestDriver(topology_of(windowed(TimeWindows.of(ms(10), grace=ms(10)))), config) as driver:
        pipe(driver, "in|k=a@1 in|j=b@1")
        driver.advance_wall_clock(ms(40))
        pipe(driver, "other|k=x@2")
        driver.advance_wall_clock(ms(49))
        assert [(str(window), text) for window, text in driver.store("windows").all()] == [("[k@0/10]", "a*x")]
        driver.restart()
        assert pipe(driver, "in|k=c@3") == [("[k@0/10]", "a*xc", 3)]
        driver.advance_wall_clock(ms(50))
        assert list(driver.store("windows").all()) == []
        assert [list(driver.store(f"both-cogroup-agg-{n}-stream-time-table").all()) for n in (0, 1)] == [[], []]
        assert pipe(driver, "other|k=y@2") == [("[k@0/10]", "*y", 2)]


def by_head(builder, topic):
    return builder.stream(topic).group_by(lambda key, value: value[0])


def on_plan(topology, directory, partitions, inputs):
    """The last value of every key, on the plan that Spark runs."""
    topics = hr.LocalTopics(directory / "topics")
    for topic, count in partitions.items():
        topics.create(topic, partitions=count)
    for topic, *record in inputs:
        topics.produce(topic, [hr.Record(*record)])
    runner = PlanRunner(topology, directory)
    while runner.run_batch(3):
        pass
    return {record.key: record.value for record in topics.read("out")}


WORDS = [f"{letter}{number}" for number in range(4) for letter in "abcdefgh"]


@pytest.mark.parametrize("partitions", [{"in": 1, "other": 4}, {"in": 4, "other": 4}, {"in": 5, "other": 2}])
def test_a_rekeyed_stream_and_one_that_is_not_are_cogrouped_in_every_task(partitions, tmp_path):
    builder = StreamsBuilder()
    both = by_head(builder, "in").cogroup(added).cogroup(builder.stream("other").group_by_key(), starred)
    both.aggregate(str).to_stream().to("out")
    inputs = [("in", "any", word, 1) for word in WORDS] + [("other", word[0], word, 2) for word in WORDS[:8]]
    results = on_plan(builder.build(), tmp_path, partitions, inputs)
    assert results == {c: "".join(w for w in WORDS if w[0] == c) + f"*{c}0" for c in "abcdefgh"}


def test_two_rekeyed_streams_with_different_partitions_are_cogrouped_in_every_task(tmp_path):
    builder = StreamsBuilder()
    by_head(builder, "in").cogroup(added).cogroup(by_head(builder, "other"), starred).aggregate(str).to_stream().to(
        "out"
    )
    inputs = [("in", "any", word, 1) for word in WORDS[:8]] + [("other", f"o{word}", word, 2) for word in WORDS[:8]]
    results = on_plan(builder.build(), tmp_path, {"in": 2, "other": 3}, inputs)
    assert results == {c: f"{c}0*{c}0" for c in "abcdefgh"}


def test_topics_with_different_numbers_of_partitions_are_refused(tmp_path):
    with pytest.raises(
        hr.TopicError, match=r"cogroup\(\) needs topics with the same number of .*'in' has 2, 'other' has 3\."
    ):
        on_plan(topology_of(lambda both: both.aggregate(str)), tmp_path, {"in": 2, "other": 3}, [])


def test_a_repartition_with_another_number_of_partitions_is_refused(tmp_path):
    builder = StreamsBuilder()
    dealt = builder.stream("in").repartition(partitions=5, name="five").group_by_key()
    dealt.cogroup(added).cogroup(builder.stream("other").group_by_key(), starred).aggregate(str)
    with pytest.raises(hr.TopicError, match=r"'five-repartition' has 5, 'other' has 3\."):
        on_plan(builder.build(), tmp_path, {"in": 2, "other": 3}, [])
