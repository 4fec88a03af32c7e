"""The record cache: a cached table forwards the last update of a row once per commit, which is a batch on Spark."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, Stores, StreamsBuilder, serdes
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import PlanRuntime

CACHE = {"statestore_cache_max_bytes": 10_000}
MS = timedelta(milliseconds=1)


@pytest.fixture
def plan(tmp_path):
    """Runs all records in one batch."""
    return PlanRuntime(tmp_path)


def counted_words(**options):
    builder = StreamsBuilder()
    words = builder.stream("in").flat_map_values(str.split).group_by_key()
    words.count(store="counts", **options).to_stream().to("out")
    return builder.build()


def test_updates_that_one_record_causes_become_one(runtime):
    outputs, _ = runtime.run(counted_words(), [("in", "k", "a b c", 7)], config=CACHE)
    assert outputs["out"] == [Record("k", 3, 7)]


def test_without_a_cache_every_update_is_forwarded(runtime):
    outputs, _ = runtime.run(counted_words(), [("in", "k", "a b c", 7)])
    assert outputs["out"] == [Record("k", 1, 7), Record("k", 2, 7), Record("k", 3, 7)]


def test_an_update_has_timestamp_and_headers_of_the_last_one_and_comes_in_its_order(plan):
    records = [
        ("in", "a", "x", 5, (("h", b"1"),)),
        ("in", "b", "x", 6, ()),
        ("in", "a", "x", 7, (("h", b"2"),)),
        ("in", "c", "x", 8, ()),
        ("in", "b", "x", 8, ()),
    ]
    outputs, _ = plan.run(counted_words(), records, config=CACHE)
    assert outputs["out"] == [Record("a", 2, 7, (("h", b"2"),)), Record("c", 1, 8), Record("b", 2, 8)]


def test_the_test_driver_commits_after_every_record():
    with TopologyTestDriver(counted_words(), hr.StreamsConfig(application_id="t", **CACHE)) as driver:
        driver.input_topic("in").pipe("k", "a b", 1)
        driver.input_topic("in").pipe("k", "c d", 2)
        assert driver.output_topic("out").read_all() == [Record("k", 2, 1), Record("k", 4, 2)]
        assert driver.store("counts").get("k") == 4


def test_repartitioned_records_are_commits_of_their_own_in_the_test_driver():
    builder = StreamsBuilder()
    words = builder.stream("in").flat_map_values(str.split).group_by(lambda _, word: "all")
    words.count().to_stream().to("out")
    with TopologyTestDriver(builder.build(), hr.StreamsConfig(application_id="t", **CACHE)) as driver:
        driver.input_topic("in").pipe("k", "a b", 1)
        assert [record.value for record in driver.output_topic("out").read_all()] == [1, 2]


def test_the_old_value_is_the_one_that_was_forwarded_before(plan):
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count(store="counts")
    by_count = counts.group_by(lambda key, count: (str(count), key))
    by_count.aggregate(
        list, lambda _, key, keys: [*keys, key], lambda _, key, keys: [one for one in keys if one != key], store="keys"
    ).to_stream().to("out")
    topology = builder.build()
    first, _ = plan.run(topology, [("in", key, "x", at) for at, key in enumerate("aab")], config=CACHE)
    assert [(record.key, record.value) for record in first["out"]] == [("2", ["a"]), ("1", ["b"])]
    then, _ = plan.run(topology, [("in", key, "x", 10 + at) for at, key in enumerate("aab")], config=CACHE)
    changes = [(record.key, record.value) for record in then["out"][2:]]
    assert changes == [("4", ["a"]), ("1", []), ("2", ["b"])]


def test_a_row_that_was_never_forwarded_is_not_deleted(plan):
    builder = StreamsBuilder()
    builder.table("in", store="rows").to_stream().to("out")
    topology = builder.build()
    outputs, _ = plan.run(topology, [("in", "a", 1, 1), ("in", "b", 1, 2), ("in", "a", None, 3)], config=CACHE)
    assert outputs["out"] == [Record("b", 1, 2)]
    outputs, _ = plan.run(topology, [("in", "b", 2, 4), ("in", "b", None, 3)], config=CACHE)
    assert outputs["out"] == [Record("b", 1, 2), Record("b", None, 3)]


@pytest.mark.parametrize("cached", [True, False])
def test_a_store_can_be_left_out_of_the_cache(plan, cached):
    builder = StreamsBuilder()
    builder.table("in", store=Stores.timestamped_key_value("rows", cached=cached)).to_stream().to("rows")
    windows = hr.TimeWindows.of(10 * MS)
    store = Stores.window("windows", retention=10 * MS, window_size=10 * MS, cached=cached)
    stream = builder.stream("events").group_by_key()
    stream.windowed_by(windows).count(store=store).to_stream(name="counts").map(lambda key, n: (key.key, n)).to(
        "counts"
    )
    sessions = Stores.session("sessions", retention=10 * MS, cached=cached)
    gap = hr.SessionWindows.of(10 * MS)
    stream.windowed_by(gap).count(store=sessions).to_stream().map(lambda key, n: (key.key, n)).to("sessions")
    inputs = [(topic, "k", value, value) for topic in ("in", "events") for value in (1, 2)]
    outputs, _ = plan.run(builder.build(), inputs, config=CACHE)
    updates = {topic: [record.value for record in records] for topic, records in outputs.items()}
    every = {"rows": [1, 2], "counts": [1, 2], "sessions": [1, None, 2]}
    assert updates == ({"rows": [2], "counts": [2], "sessions": [2]} if cached else every)


def test_results_that_wait_for_their_window_to_close_are_not_cached(runtime):
    builder = StreamsBuilder()
    windowed = builder.stream("in").group_by_key().windowed_by(hr.TimeWindows.of(10 * MS))
    counts = windowed.emit_strategy(hr.EmitStrategy.on_window_close()).count()
    counts.to_stream().map(lambda key, count: (key.window.start_ms, count)).to("out", key_serde=serdes.Long())
    outputs, _ = runtime.run(builder.build(), [("in", "k", "x", at) for at in (1, 2, 11, 25)], config=CACHE)
    assert outputs["out"] == [Record(0, 2, 2), Record(10, 1, 11)]


class Reader(hr.Processor):
    """Forwards what it reads from the store of a table."""

    def process(self, record):
        found = self.context.state_store("counts").get(record.key)
        self.context.forward(record.with_value(None if found is None else found[0]))


def test_who_reads_the_store_sees_updates_that_were_not_forwarded_yet(plan):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    counts = stream.group_by_key().count(store="counts")
    stream.process(Reader, stores=["counts"]).to("read")
    stream.join(counts, lambda _, count: count).to("joined")
    counts.to_stream().to("counts")
    outputs, _ = plan.run(builder.build(), [("in", "k", "x", at) for at in (1, 2, 3)], config=CACHE)
    assert {topic: [record.value for record in records] for topic, records in outputs.items()} == {
        "read": [1, 2, 3],
        "joined": [1, 2, 3],
        "counts": [3],
    }


def test_a_join_after_a_repartition_sees_updates_that_were_not_forwarded_yet(runtime):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    counts = stream.group_by_key().count(store="counts")
    counts.to_stream().to("counts")
    again = stream.map(lambda _, value: ("k", value)).repartition("again", partitions=1)
    again.join(counts, lambda value, count: f"{value}{count}").to("joined")
    outputs, _ = runtime.run(builder.build(), [("in", "k", value, 1) for value in "xyz"], config=CACHE)
    assert [record.value for record in outputs["joined"]] == ["x1", "y2", "z3"]
    assert [record.value for record in outputs["counts"]] == ([1, 2, 3] if runtime.name == "driver" else [3])


class Origin(hr.Processor):
    """Forwards the offset of the input record that caused a record."""

    def process(self, record):
        metadata = self.context.record_metadata
        self.context.forward(record.with_value([record.value, metadata.topic, metadata.offset]))


def test_an_update_descends_from_the_input_record_that_caused_it(plan):
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count().to_stream().process(Origin).to("out")
    records = [("in", key, "x", at) for at, key in enumerate("aabab")]
    outputs, _ = plan.run(builder.build(), records, config=CACHE)
    assert [(record.key, record.value) for record in outputs["out"]] == [("a", [3, "in", 3]), ("b", [2, "in", 4])]


def test_cached_tables_are_flushed_in_topology_order(plan):
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count(store="counts")
    counts.filter(lambda _, count: count != 2, store="filtered").to_stream().to("out")
    topology = builder.build()
    outputs, _ = plan.run(topology, [("in", "a", "x", 1)], config=CACHE)
    assert outputs["out"] == [Record("a", 1, 1)]
    outputs, _ = plan.run(topology, [("in", "a", "x", 2), ("in", "a", "x", 3), ("in", "b", "x", 4)], config=CACHE)
    assert outputs["out"][1:] == [Record("a", 3, 3), Record("b", 1, 4)]


def test_a_full_cache_forwards_the_updates_of_its_store(plan):
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
    records = [("in", key, "x", at) for at, key in enumerate("aabbac")]
    # An update of these keys takes 73 bytes: two fit.
    outputs, _ = plan.run(builder.build(), records, config={"statestore_cache_max_bytes": 150})
    assert outputs["out"] == [Record("b", 2, 3), Record("a", 3, 4), Record("c", 1, 5)]


def failing(key, count):
    if key == "bad":
        message = f"{key} {count}"
        raise ValueError(message)
    return count


def failing_after_count():
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count(store="counts").to_stream()
    counts.map_values_with_key(failing, name="checked").to("out")
    return builder.build()


@pytest.mark.parametrize("cache", [1, 10_000])
def test_an_error_names_the_input_record_that_caused_the_update(plan, cache):
    records = [("in", key, "x", at) for at, key in enumerate(["ok", "bad", "bad", "ok"])]
    at = 1 if cache == 1 else 2
    said = rf"checked failed on record in-0@{at} \(key 'bad', timestamp {at}\), .*ValueError: bad {at}"
    with pytest.raises(hr.ProcessingError, match=said):
        plan.run(failing_after_count(), records, config={"statestore_cache_max_bytes": cache})


def test_an_update_that_fails_becomes_a_dead_letter_of_the_input_record_that_caused_it(plan):
    settings = {**CACHE, "processing_exception_handler": "dead_letter", "dead_letter_topic": "dead"}
    records = [("in", key, f"value {at}", at) for at, key in enumerate(["ok", "bad", "bad", "ok"])]
    outputs, metrics = plan.run(failing_after_count(), records, config=settings)
    assert outputs["out"] == [Record("ok", 2, 3)]
    assert metrics["checked"]["dropped"] == {"processing error": 1}
    (letter,) = plan.topics.read("dead", key_serde=serdes.String(), value_serde=serdes.String())
    assert (letter.key, letter.value, letter.timestamp_ms) == ("bad", '"value 2"', 2)
    assert dict(letter.headers)["headrace.error.offset"] == b"2"


class EveryTenth(hr.Processor):
    """Forwards a record at every tenth millisecond of stream time."""

    def init(self, context):
        super().init(context)
        context.schedule(10 * MS, hr.PunctuationType.STREAM_TIME, self.tick, timedelta(0))

    def process(self, record):
        self.context.forward(record)

    def tick(self, timestamp_ms):
        self.context.forward(Record("k", f"tick {timestamp_ms}", timestamp_ms))


def test_records_that_a_punctuation_forwards_are_cached_like_others(plan):
    builder = StreamsBuilder()
    ticks = builder.stream("in").process(EveryTenth)
    ticks.group_by_key().aggregate(list, lambda _, value, seen: [*seen, value]).to_stream().process(Origin).to("out")
    outputs, _ = plan.run(builder.build(), [("in", "k", "a", 3), ("in", "k", "b", 12)], config=CACHE)
    (record,) = outputs["out"]
    assert record.value == [["a", "b", "tick 12"], "in", 1]


def test_updates_survive_changes_of_the_value_by_later_functions(plan):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.to_table(store="rows").to_stream().to("out")
    stream.for_each(lambda _, value: value.append("changed"))
    outputs, _ = plan.run(builder.build(), [("in", "k", ["a"], 1), ("in", "k", ["b"], 2)], config=CACHE)
    assert outputs["out"] == [Record("k", ["b"], 2)]
