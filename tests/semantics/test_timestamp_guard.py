"""max_timestamp_ahead: a record from the far future is refused before it advances stream time."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import Record, serdes
from headrace.testing import TopologyTestDriver
from tests.support.clocks import FileClock
from tests.support.plan_runner import PlanRunner
from tests.support.runtimes import SparkRuntime

MS = timedelta(milliseconds=1)
AHEAD = 100
FAR = 1_000_000


def counts(extractor=None, **stream):
    builder = hr.StreamsBuilder()
    source = builder.stream("in", timestamp_extractor=extractor, name="reads", **stream)
    source.group_by_key().windowed_by(hr.TimeWindows.of(10 * MS)).count(store="counts").to_stream().to("out")
    return builder.build()


def plain():
    """A topology without state, which Spark runs inline, while it reads the input."""
    builder = hr.StreamsBuilder()
    builder.stream("in", name="reads").map_values(lambda value: value.upper()).to("out")
    return builder.build()


def guarded(handler, **more):
    topic = {"dead_letter_topic": "dead"} if handler == "dead_letter" else {}
    return {"max_timestamp_ahead": AHEAD * MS, "timestamp_ahead_handler": handler, **topic, **more}


def driven(topology, records, settings, clock_ms=0):
    with TopologyTestDriver(
        topology, hr.StreamsConfig(application_id="t", **settings), wall_clock_ms=clock_ms
    ) as driver:
        for record in records:
            driver.input_topic("in").pipe(*record)
        dead = driver.output_topic("dead").read_all() if "dead_letter_topic" in settings else None
        out = [(str(r.key), r.value, r.timestamp_ms) for r in driver.output_topic("out").read_all()]
        return out, dead, driver.metrics().get("reads", {}).get("dropped")


RECORDS = [("k", "a", 5), ("k", "b", FAR), ("k", "c", 7), ("k", "d", AHEAD), ("k", "e", AHEAD + 1)]
KEPT = [("[k@0/10]", 1, 5), ("[k@0/10]", 2, 7), ("[k@100/110]", 1, 100)]


def test_a_skipped_record_is_counted_and_does_not_advance_stream_time(caplog):
    with caplog.at_level(logging.WARNING):
        found = driven(counts(), RECORDS, guarded("continue"))
    assert found == (KEPT, None, {"timestamp too far ahead": 2})
    assert caplog.records[0].getMessage() == (
        "Dropped (timestamp too far ahead): reads refuses record in-0@1: its timestamp 1000000 is 1000000 ms ahead of "
        "the wall clock 0, and max_timestamp_ahead allows 100 ms"
    )


def test_a_dead_letter_is_the_record_with_a_reason():
    records = [("k", "b", FAR, [("mine", b"1")])]
    out, dead, dropped = driven(counts(), records, guarded("dead_letter"), clock_ms=50)
    why = "its timestamp 1000000 is 999950 ms ahead of the wall clock 50, and max_timestamp_ahead allows 100 ms"
    origin = {"operator": "reads", "topic": "in", "partition": 0, "offset": 0, "timestamp": FAR}
    error = {"exception": "headrace.errors.ProcessingError", "message": why}
    trace = {"stacktrace": f"headrace.errors.ProcessingError: {why}\n"}
    expected = {"reason": "timestamp too far ahead", **origin, **error, **trace}
    headers = (("mine", b"1"), *((f"headrace.error.{name}", str(value).encode()) for name, value in expected.items()))
    assert (out, dead, dropped) == ([], [Record(b"k", b'"b"', FAR, headers)], {"timestamp too far ahead": 1})


def test_the_error_says_which_record_failed_and_what_to_do():
    with pytest.raises(hr.ProcessingError) as refused:
        driven(counts(), RECORDS, guarded("fail"), clock_ms=20)
    assert str(refused.value) == (
        "reads refuses record in-0@1: its timestamp 1000000 is 999980 ms ahead of the wall clock 20, and "
        "max_timestamp_ahead allows 100 ms. Fix the timestamp where the record is produced or with a "
        "timestamp_extractor, or drop such records with timestamp_ahead_handler='continue' or 'dead_letter'."
    )


def test_without_the_setting_records_from_the_future_are_processed():
    out, _, dropped = driven(counts(), RECORDS[:3], {})
    assert (out, dropped) == ([("[k@0/10]", 1, 5), ("[k@1000000/1000010]", 1, FAR)], None)


def test_the_extracted_timestamp_is_checked_and_partition_time_stays():
    times = []

    def extractor(record, partition_time_ms):
        times.append(partition_time_ms)
        return record.value

    records = [("k", 5, 900), ("k", FAR, 901), ("k", 7, FAR)]
    out, dead, _ = driven(counts(extractor), records, guarded("dead_letter"))
    assert (out, times) == ([("[k@0/10]", 1, 5), ("[k@0/10]", 2, 7)], [-1, 5, 5])
    assert [(r.value, r.timestamp_ms, dict(r.headers)["headrace.error.timestamp"]) for r in dead] == [
        (b"1000000", 901, b"1000000")
    ]


def test_a_refused_record_does_not_advance_the_stream_time_of_processors():
    class Telling(hr.Processor):
        def process(self, record):
            self.context.forward(record.with_value(self.context.current_stream_time_ms))

    builder = hr.StreamsBuilder()
    builder.stream("in", name="reads").process(Telling).to("out")
    out, _, _ = driven(builder.build(), RECORDS[:3], guarded("continue"))
    assert out == [("k", 5, 5), ("k", 7, 7)]


def test_records_after_a_repartition_are_not_checked():
    class Later(hr.Processor):
        def process(self, record):
            self.context.forward(record, to=hr.To.all().with_timestamp(FAR))

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Later).repartition("again").to("out")
    out, _, _ = driven(builder.build(), [("k", "v", 1)], guarded("fail"))
    assert out == [("k", "v", FAR)]


def test_the_dead_letter_topic_must_not_be_a_topic_of_the_topology():
    for topic in ("in", "out"):
        config = hr.StreamsConfig(application_id="t", **guarded("dead_letter") | {"dead_letter_topic": topic})
        with pytest.raises(hr.ConfigError, match=f"dead_letter_topic is '{topic}', which the topology reads or writes"):
            TopologyTestDriver(counts(), config)


PLACED = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([0, 3, 9, 12, 15, 31, 90, 200, FAR]), st.integers(0, 1)),
    max_size=25,
)
EVENTS = st.sampled_from([None, None, "before", "after", "restart"])


def planned(build, records, cuts, handler="dead_letter", **more):
    """All outputs of a plan, with the clock at 50; `cuts` are sizes of batches and the events that happen to them."""
    with TemporaryDirectory() as name:
        topics = hr.LocalTopics(Path(name) / "topics")
        topics.create("in", partitions=2)
        listed = [Record(key, str(at), at, partition=where) for key, at, where in records]
        topics.produce("in", listed)
        config = hr.StreamsConfig(application_id="t", **guarded(handler, **more))
        runner = PlanRunner(build(), Path(name), config=config)
        runner.clock_ms = 50
        for limit, event in cuts:
            if event == "restart":
                runner.restart()
            elif event is not None:
                runner.run_batch(limit, fail=event)
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        outputs = runner.outputs()
        return {topic: {where: rows for where, rows in parts.items() if rows} for topic, parts in outputs.items()}


def repartitioned():
    """The order across partitions matters here: the last value of all wins."""
    builder = hr.StreamsBuilder()
    stream = builder.stream("in").group_by(lambda key, value: "all", key_serde=serdes.String())
    stream.reduce(lambda before, value: before + " " + value, store="all").to_stream().to("out")
    return builder.build()


@settings(max_examples=30)
@given(records=PLACED, cuts=st.lists(st.tuples(st.integers(1, 6), EVENTS), max_size=8))
@pytest.mark.parametrize("build", [counts, plain, repartitioned])
def test_refused_records_do_not_affect_results_however_batches_are_cut_and_repeated(build, records, cuts):
    ahead = [record for record in records if record[1] > 50 + AHEAD]
    found = planned(build, records, cuts)
    alone = planned(build, [record for record in records if record not in ahead], [])
    assert found["out"] == alone["out"]
    dead = [(key, at) for rows in found["dead"].values() for key, _, at in rows]
    assert sorted(dead) == sorted((key.encode(), at) for key, at, _ in ahead)


def test_the_plan_fails_like_the_driver():
    with pytest.raises(
        hr.ProcessingError, match="reads refuses record in-1@0: its timestamp 1000000 is 999950 ms ahead"
    ):
        planned(plain, [("a", 1, 0), ("b", FAR, 1)], [], "fail")


@pytest.mark.spark
@pytest.mark.parametrize("build", [counts, pytest.param(plain, marks=pytest.mark.slow)])
def test_on_spark_timestamps_are_compared_with_the_clock_of_the_batch(spark, tmp_path, build):
    runtime = SparkRuntime(spark, tmp_path, partitions=2)
    topology = build()
    clock = FileClock(tmp_path / "clock")
    clock.set(50)
    app = hr.Streams(topology, runtime.config(**guarded("fail")), spark=spark)
    app._application.clock = clock
    runtime.topics.create("in", partitions=2)
    values = [("k", "a", 5), ("k", "b", FAR), ("k", "c", 7)]
    runtime.topics.produce("in", [Record(*value, partition=0) for value in values])
    with pytest.raises(
        hr.ProcessingError, match="reads refuses record in-0@1: its timestamp 1000000 is 999950 ms ahead"
    ):
        app.process_available()
    clock.set(60)  # nothing of the batch was visible, so it is planned again, at this time
    app = hr.Streams(topology, runtime.config(**guarded("dead_letter")), spark=spark)
    app._application.clock = clock
    app.process_available()
    assert [(r.key, r.timestamp_ms) for r in runtime.topics.read("dead", key_serde=serdes.String())] == [("k", FAR)]
    assert [record.timestamp_ms for record in runtime.outputs(topology)["out"]] == [5, 7]
    assert app.metrics()["reads"]["dropped"] == {"timestamp too far ahead": 1}
    clock.set(FAR)
    runtime.topics.produce("in", [Record("k", "d", FAR, partition=0)])
    app.process_available()
    assert [record.timestamp_ms for record in runtime.outputs(topology)["out"]] == [5, 7, FAR]
