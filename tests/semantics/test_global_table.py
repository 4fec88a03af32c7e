"""Global tables: complete in every task, joined by any key, updated before the records of a batch."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, StreamsBuilder, TopologyError, serdes
from headrace.testing import TopologyTestDriver

TABLE = [("table", "a", "A", 100), ("table", "b", "B", 3)]


def both(value, row):
    return f"{value}/{row}"


def head(key, value):
    return value[0] if value else None


def joined(operation="join", **options):
    """The stream "in" joined with the global table "table" by the first letter of its values."""
    builder = StreamsBuilder()
    table = builder.global_table("table", store="rows", name="table")
    stream = builder.stream("in")
    getattr(stream, operation)(table, both, **{"key_selector": head, "name": "join"} | options).to("out")
    return builder.build()


def triples(records):
    return [(record.key, record.value, record.timestamp_ms) for record in records]


def test_each_record_is_joined_with_the_row_of_the_selected_key_and_keeps_its_key_and_timestamp(runtime):
    outputs, _ = runtime.run(joined(), [*TABLE, ("in", "k", "a1", 5), ("in", None, "a2", 6), ("in", "k", "c3", 7)])
    assert triples(outputs["out"]) == [("k", "a1/A", 5), (None, "a2/A", 6)]


def test_a_left_join_passes_none_if_there_is_no_row_or_no_key_is_selected(runtime):
    records = [("in", "k", "a1", 5), ("in", "k", "c2", 6), ("in", "k", "", 7), ("in", None, "", 8)]
    outputs, _ = runtime.run(joined("left_join"), [*TABLE, *records])
    assert triples(outputs["out"]) == [("k", "a1/A", 5), ("k", "c2/None", 6), ("k", "/None", 7), (None, "/None", 8)]


def test_dropped_records_and_rows_are_counted_each_row_once(runtime):
    table = [*TABLE, ("table", None, "nobody", 9)]
    outputs, metrics = runtime.run(
        joined(), [*table, ("in", "k", None, 4), ("in", "k", "", 5), ("in", None, "b1", 6), ("in", "k", "c1", 7)]
    )
    assert triples(outputs["out"]) == [(None, "b1/B", 6)]
    assert metrics["join"] == {"dropped": {"null join key": 1, "null value": 1}}
    assert metrics["table-source"] == {"records_in": 3}
    assert metrics["table"] == {"dropped": {"null key": 1}}


def test_without_a_selector_the_row_of_the_records_own_key_is_used(runtime):
    outputs, metrics = runtime.run(
        joined(key_selector=None), [*TABLE, ("in", "b", 1, 5), ("in", None, 2, 6), ("in", "c", 3, 7)]
    )
    assert triples(outputs["out"]) == [("b", "1/B", 5)]
    assert metrics["join"] == {"dropped": {"null join key": 1}}


def test_results_keep_the_headers_of_the_record(runtime):
    outputs, _ = runtime.run(joined(), [*TABLE, ("in", "k", "a1", 5, (("trace", b"7"),))])
    assert outputs["out"] == [Record("k", "a1/A", 5, (("trace", b"7"),))]


def test_the_table_changes_between_records_whatever_the_timestamps():
    with TopologyTestDriver(joined("left_join")) as driver:
        rows, stream = driver.input_topic("table"), driver.input_topic("in")
        stream.pipe("k", "a1", 10)
        rows.pipe("a", "late", 500)
        stream.pipe("k", "a2", 11)
        rows.pipe("a", "early", 1)
        stream.pipe("k", "a3", 12)
        rows.pipe("a", None, 0)
        stream.pipe("k", "a4", 13)
        assert triples(driver.output_topic("out").read_all()) == [
            ("k", "a1/None", 10),
            ("k", "a2/late", 11),
            ("k", "a3/early", 12),
            ("k", "a4/None", 13),
        ]


def test_rows_survive_a_restart_and_tasks_of_all_partitions_read_the_same_rows():
    with TopologyTestDriver(joined()) as driver:
        rows, stream = driver.input_topic("table"), driver.input_topic("in")
        stream.pipe("k", "a1", 1, partition=3)
        rows.pipe("a", "A", 2, partition=2)
        stream.pipe("k", "a2", 3, partition=3)
        stream.pipe("k", "a3", 4, partition=5)
        driver.restart()
        stream.pipe("k", "a4", 5, partition=0)
        rows.pipe("a", "Z", 6, partition=1)
        stream.pipe("k", "a5", 7, partition=3)
        assert triples(driver.output_topic("out").read_all()) == [
            ("k", "a2/A", 3),
            ("k", "a3/A", 4),
            ("k", "a4/A", 5),
            ("k", "a5/Z", 7),
        ]
        assert list(driver.store("rows").all()) == [("a", "Z")]
        assert driver.store("rows").get_with_timestamp("a") == ("Z", 6)
        assert driver.metrics()["table-source"] == {"records_in": 2}


def test_streams_of_several_sub_topologies_can_join_one_table(runtime):
    builder = StreamsBuilder()
    table = builder.global_table("table", name="table")
    builder.stream("in").join(table, both, key_selector=head).to("out")
    builder.stream("other").left_join(table, lambda value, row: [value, row]).to("others")
    outputs, metrics = runtime.run(
        builder.build(), [*TABLE, ("in", "k", "a1", 5), ("other", "b", 2, 6), ("other", "x", 3, 7)]
    )
    assert triples(outputs["out"]) == [("k", "a1/A", 5)]
    assert triples(outputs["others"]) == [("b", [2, "B"], 6), ("x", [3, None], 7)]
    assert metrics["table-source"] == {"records_in": 2}


def test_stages_before_and_after_a_repartition_have_the_table(runtime):
    builder = StreamsBuilder()
    table, other = builder.global_table("table"), builder.global_table("other")
    (
        builder.stream("in")
        .select_key(head)
        .join(table, both)
        .join(other, both, key_selector=lambda key, value: "all")
        .repartition()
        .left_join(table, both, key_selector=lambda key, value: value[1])
        .group_by_key()
        .aggregate(list, lambda key, value, seen: [*seen, value])
        .to_stream()
        .to("out")
    )
    topology = builder.build()
    assert len([s for s in topology._graph.sub_topologies if not s.is_global]) == 2
    outputs, _ = runtime.run(
        topology, [*TABLE, ("other", "all", "X", 1), ("in", "k", "ab", 5), ("in", "k", "bx", 6), ("in", "k", "ba", 4)]
    )
    assert triples(outputs["out"]) == [
        ("a", ["ab/A/X/B"], 5),
        ("b", ["bx/B/X/None"], 6),
        ("b", ["bx/B/X/None", "ba/B/X/A"], 6),
    ]


def test_a_join_does_not_change_the_partitioning_of_the_stream():
    builder = StreamsBuilder()
    table, stream = builder.global_table("table"), builder.stream("in")
    stream.join(table, both).group_by_key().count(store="plain")
    stream.select_key(head).join(table, both).group_by_key().count(store="marked")
    sinks = [node.topic for node in builder.build()._graph.nodes if isinstance(node, hr._graph.nodes.Sink)]
    assert sinks == ["marked-repartition"]


@pytest.mark.parametrize(
    ("operation", "without_key"), [("left_join", [(None, "/None", 6)]), ("join", [])], ids=["left", "inner"]
)
def test_records_without_a_key_pass_the_repartitions_before_a_left_join(runtime, operation, without_key):
    builder = StreamsBuilder()
    table = builder.global_table("table")
    twice = builder.stream("in").select_key(head).repartition("one").filter(lambda key, value: True).repartition("two")
    getattr(twice, operation)(table, both).to("out")
    outputs, _ = runtime.run(builder.build(), [*TABLE, ("in", "k", "a", 5), ("in", "k", "", 6), ("in", "k", "b", 7)])
    assert triples(outputs["out"]) == [("a", "a/A", 5), *without_key, ("b", "b/B", 7)]


def test_records_without_a_key_are_still_dropped_by_repartitions_without_a_left_join_after_them():
    builder = StreamsBuilder()
    stream = builder.stream("in").select_key(head).left_join(builder.global_table("table"), both)
    stream.group_by_key(name="counted").count().to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "", 6)
        assert driver.output_topic("out").read_all() == []
        assert driver.metrics()["counted-repartition-filter"] == {"dropped": {"null key": 1}}


def test_rows_that_the_topology_itself_writes_are_visible_at_once():
    builder = StreamsBuilder()
    table = builder.global_table("table")
    stream = builder.stream("in")
    stream.filter(lambda key, value: len(value) == 1).to("again")
    stream.filter(lambda key, value: len(value) == 1).flat_map(lambda k, v: [(v, "first"), (v, k)]).to("table")
    builder.stream("again").join(table, both, key_selector=head).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "a", 5)
        assert triples(driver.output_topic("out").read_all()) == [("k", "a/k", 5)]


def test_a_joiner_that_changes_a_row_in_place_does_not_affect_the_next_record(runtime):
    def appended(value, row):
        row.append(value)
        return row

    builder = StreamsBuilder()
    builder.stream("in").join(builder.global_table("table"), appended).to("out")
    outputs, _ = runtime.run(builder.build(), [("table", "a", [0], 1), ("in", "a", 1, 2), ("in", "a", 2, 3)])
    assert triples(outputs["out"]) == [("a", [0, 1], 2), ("a", [0, 2], 3)]


class Watch(hr.Processor):
    """Forwards each punctuation by stream time, and the row of a global table for each record."""

    def init(self, context):
        super().init(context)
        self.rows = context.state_store("rows")
        context.schedule(timedelta(milliseconds=10), hr.PunctuationType.STREAM_TIME, self.tick, timedelta(0))

    def tick(self, timestamp_ms):
        self.context.forward(Record("tick", len(list(self.rows.all()))))

    def process(self, record):
        self.context.forward(record.with_value([record.value, self.rows.get(head(None, record.value))]))


def watching():
    builder = StreamsBuilder()
    builder.global_table("table", store="rows")
    builder.stream("in").process(Watch, stores=["rows"]).to("out")
    return builder.build()


def test_processors_read_the_table_and_its_records_do_not_advance_stream_time(runtime):
    outputs, _ = runtime.run(watching(), [*TABLE, ("in", "k", "a", 3), ("in", "k", "x", 12)])
    assert triples(outputs["out"]) == [
        ("k", ["a", ["A", 100]], 3),
        ("k", ["x", None], 12),
        ("tick", 2, 12),
    ]


def test_new_rows_trigger_no_processor():
    with TopologyTestDriver(watching()) as driver:
        driver.input_topic("in").pipe("k", "x", 3)
        driver.output_topic("out").read_all()
        driver.input_topic("table").pipe("a", "A", 1_000)
        assert driver.output_topic("out").read_all() == []
        driver.restart()
        driver.input_topic("in").pipe("k", "a", 4)
        assert triples(driver.output_topic("out").read_all()) == [("k", ["a", ["A", 1_000]], 4)]


WRITES = {
    "put": lambda rows: rows.put("a", 1, 2),
    "put_if_absent": lambda rows: rows.put_if_absent("a", 1, 2),
    "delete": lambda rows: rows.delete("a"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_processor_cannot_write_to_a_global_table(write):
    class Writing(hr.Processor):
        def process(self, record):
            write(self.context.state_store("rows"))

    builder = StreamsBuilder()
    builder.global_table("table", store="rows")
    builder.stream("in").process(Writing, stores=["rows"])
    with TopologyTestDriver(builder.build()) as driver:
        with pytest.raises(hr.StreamsError, match="Store 'rows' belongs to a global table"):
            driver.input_topic("in").pipe("k", "v", 1)
        assert list(driver.store("rows").all()) == []


def test_the_error_for_an_unconnected_table_says_how_to_connect_it():
    class Reading(hr.Processor):
        def process(self, record):
            self.context.state_store("rows")

    builder = StreamsBuilder()
    builder.global_table("table", store="rows")
    builder.stream("in").process(Reading, name="reader")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(hr.StreamsError) as refused:
        driver.input_topic("in").pipe("k", "v", 1)
    assert "Store 'rows' is not connected to processor 'reader'" in str(refused.value)


def test_only_the_tables_own_extractor_changes_the_timestamps_of_rows(runtime):
    builder = StreamsBuilder()
    plain = builder.global_table("table", store="plain")
    timed = builder.global_table("timed", timestamp_extractor=value_of, store="timed", name="timed")
    builder.stream("in").process(Showing, stores=["plain", "timed"]).to("out")
    builder.stream("in").left_join(plain, both).left_join(timed, both)
    config = {"default_timestamp_extractor": lambda record, partition_time_ms: record.timestamp_ms + 1}
    outputs, metrics = runtime.run(
        builder.build(),
        [("table", "a", 70, 1), ("timed", "a", 70, 2), ("timed", "b", -1, 3), ("in", "a", "x", 4)],
        config=config,
    )
    assert triples(outputs["out"]) == [("a", [[70, 1], [70, 70]], 5)]
    assert metrics["timed-source"] == {"dropped": {"negative timestamp": 1}, "records_in": 1}


def value_of(record, partition_time_ms):
    return record.value


class Showing(hr.Processor):
    """Forwards the rows of all tables for the key of a record."""

    def process(self, record):
        rows = [self.context.state_store(name).get(record.key) for name in ("plain", "timed")]
        self.context.forward(record.with_value(rows))


def test_the_error_of_an_undecodable_row_names_it_and_nothing_is_written():
    builder = StreamsBuilder()
    builder.stream("in").join(builder.global_table("table", value_serde=serdes.Long(), store="rows"), both).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        message = hr._runtime.local.Message(b"a", b"short", 1, ())
        with pytest.raises(hr.ProcessingError, match="table-0@0"):
            driver._runtime.pipe("table", 0, message)
        driver.input_topic("table").pipe("a", 7, 2)
        assert list(driver.store("rows").all()) == [("a", 7)]


def test_max_timestamp_ahead_does_not_apply_to_global_tables():
    config = hr.StreamsConfig(
        application_id="test",
        max_timestamp_ahead=timedelta(milliseconds=10),
        timestamp_ahead_handler="dead_letter",
        dead_letter_topic="dead",
    )
    with TopologyTestDriver(joined(), config) as driver:
        driver.input_topic("table").pipe("a", "A", 1_000)
        driver.input_topic("in").pipe("k", "a1", 5)
        driver.input_topic("in").pipe("k", "a2", 1_000)
        assert triples(driver.output_topic("out").read_all()) == [("k", "a1/A", 5)]
        assert [record.key for record in driver.output_topic("dead").read_all()] == [b"k"]


def test_a_table_that_is_not_joined_can_be_queried():
    builder = StreamsBuilder()
    builder.global_table("table", store="rows")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("table").pipe("a", "A", 1)
        driver.restart()
        assert driver.store("rows").get("a") == "A"


def test_processors_added_to_a_built_topology_can_read_a_global_table_but_not_be_its_children():
    builder = StreamsBuilder()
    builder.global_table("table", store="rows", name="table")
    topology = builder.build().add_source("read", "in").add_processor("watch", Watch, parents="read")
    topology.connect_processor_and_state_stores("watch", "rows").add_sink("write", "out", parents="watch")
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("table").pipe("a", "A", 7)
        driver.input_topic("in").pipe("k", "a", 3)
        assert triples(driver.output_topic("out").read_all()) == [("k", ["a", ["A", 7]], 3)]
    with pytest.raises(TopologyError, match="names 'table' of a global table as parent; its records end in the table"):
        topology.add_sink("changes", "changes", parents="table")


AS_A_GLOBAL_TABLE = "as a global table, and a topic can be read only once"


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda b: (b.stream("t"), b.global_table("t")), "global_table() was given topic 't', which source"),
        (lambda b: (b.table("t"), b.global_table("t")), "global_table() was given topic 't', which source"),
        (lambda b: (b.stream(["s", "t"]), b.global_table("t")), "Topic 't' is already read by source"),
        (lambda b: (b.global_table("t"), b.stream("t")), "Topic 't' is already read by source"),
        (lambda b: (b.global_table("t"), b.stream(["s", "t"])), AS_A_GLOBAL_TABLE),
        (lambda b: (b.global_table("t"), b.table("t")), AS_A_GLOBAL_TABLE),
        (lambda b: (b.global_table("t"), b.global_table("t")), AS_A_GLOBAL_TABLE),
        (lambda b: b.global_table("a/b"), "'a/b' cannot name a topic"),
        (lambda b: [b.global_table(topic, store="s") for topic in "tu"], "already a store named 's'"),
        (
            lambda b: b.global_table("t", store=hr.Stores.versioned_key_value("s", history=timedelta(1))),
            "global_table() cannot use store=VersionedSpec(",
        ),
        (
            lambda b: b.stream("s").join(b.global_table("t"), both, key_selector="x"),
            "join() needs a function key_selector(key, value); got 'x' of type str",
        ),
        (
            lambda b: b.stream("s").left_join(b.global_table("t"), both, grace=timedelta(1)),
            "left_join() of a stream and a global table was given grace=datetime.timedelta(days=1)",
        ),
        (lambda b: b.stream("s").outer_join(b.global_table("t"), both), "allowed: a KStream."),
        (lambda b: b.table("s").join(b.global_table("t"), both), "of type GlobalKTable; allowed: a KTable"),
        (lambda b: b.stream("s").join(StreamsBuilder().global_table("t"), both), "of another StreamsBuilder"),
        (
            lambda b: (b.global_table("t", name="x"), b.stream("s").filter(print, name="x-source")),
            "already a node named 'x-source'",
        ),
    ],
)
def test_invalid_global_tables_and_joins_are_refused_with_a_reason(build, said):
    with pytest.raises(TopologyError) as refused:
        build(StreamsBuilder())
    assert said in str(refused.value)
