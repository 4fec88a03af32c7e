"""Stores that a processor of the user's own maintains from a topic: global stores, and read-only stores (KIP-813)."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import PlanRuntime

MINUTE = timedelta(minutes=1)
ROWS = hr.Stores.key_value("rows", value_serde=serdes.String())


class Appending(hr.Processor):
    """Appends each value to the row of its key, with its headers; a null key is the key "none"."""

    def init(self, context):
        super().init(context)
        self.rows = context.state_store(ROWS)
        self.seen = context.metrics.counter("seen")

    def process(self, record):
        key = record.key or "none"
        names = "".join(name for name, _ in record.headers)
        self.rows.put(key, f"{self.rows.get(key) or ''}{record.value}@{record.timestamp_ms}{names};")
        self.context.forward(record)
        self.seen.add()


class Reading(hr.Processor):
    def process(self, record):
        self.context.forward(record.with_value(f"{record.value}:{self.context.state_store(ROWS).get(record.key)}"))


ADD = {
    "global": lambda builder, **options: builder.add_global_store(ROWS, "table", Appending, **options),
    "read-only": lambda builder, **options: builder.add_read_only_state_store(ROWS, "table", Appending, **options),
}


def reading(kind):
    builder = hr.StreamsBuilder()
    ADD[kind](builder, name="keep")
    builder.stream("in").process(Reading, stores=[ROWS], name="read").to("out")
    return builder.build()


RECORDS = [
    ("table", "a", "x", 1),
    ("table", "a", "y", 2, (("h", b"1"),)),
    ("table", None, "z", 3),
    ("in", "a", "1", 5),
    ("in", "b", "2", 6),
    ("in", "none", "3", 7),
]
READ = [hr.Record("a", "1:x@1;y@2h;", 5), hr.Record("b", "2:None", 6), hr.Record("none", "3:z@3;", 7)]


@pytest.mark.parametrize("kind", ADD)
def test_processors_read_what_the_processor_of_the_store_has_written(runtime, kind):
    outputs, metrics = runtime.run(reading(kind), RECORDS)
    assert outputs == {"out": READ}
    assert metrics["keep"] == {"counters": {"seen": 3}}
    assert metrics["keep-source"] == {"records_in": 3}


def test_a_global_store_is_complete_in_every_task_and_counted_once():
    with TopologyTestDriver(reading("global")) as driver:
        driver.input_topic("table").pipe("a", "x", 1, partition=1)
        for partition in (0, 1, 2):
            driver.input_topic("in").pipe("a", "1", 5, partition=partition)
        assert [record.value for record in driver.output_topic("out").read_all()] == ["1:x@1;"] * 3
        assert driver.metrics()["keep"] == {"counters": {"seen": 1}}


def test_the_rows_of_a_global_store_come_before_the_records_of_a_batch_whatever_the_timestamps(tmp_path):
    records = [("in", "a", "1", 5), ("table", "a", "x", 100)]
    assert PlanRuntime(tmp_path).run(reading("global"), records)[0] == {"out": [hr.Record("a", "1:x@100;", 5)]}


def test_state_survives_a_restart():
    for kind in ADD:
        with TopologyTestDriver(reading(kind)) as driver:
            driver.input_topic("table").pipe("a", "x", 1)
            driver.restart()
            driver.input_topic("table").pipe("a", "y", 2)
            driver.input_topic("in").pipe("a", "1", 5)
            assert driver.output_topic("out").read_all() == [hr.Record("a", "1:x@1;y@2;", 5)]


def test_the_topology_builds_the_same_node_by_node():
    for add in ("add_global_store", "add_read_only_state_store"):
        topology = hr.Topology().add_source("source", "in").add_processor("read", Reading, "source")
        topology.add_sink("sink", "out", "read")
        getattr(topology, add)(ROWS, "keep-source", "table", "keep", Appending)
        topology.connect_processor_and_state_stores("read", "rows")
        with TopologyTestDriver(topology) as driver:
            for topic, *record in RECORDS:
                driver.input_topic(topic).pipe(*record)
            assert driver.output_topic("out").read_all() == READ


def test_generated_names_and_description_are_those_of_kafka_streams():
    builder = hr.StreamsBuilder()
    ADD["global"](builder)
    builder.stream("in").process(Reading, stores=[ROWS]).to("out")
    assert builder.build().describe() == (
        "Topologies:\n"
        "   Sub-topology: 0 for global store (will not generate tasks)\n"
        "    Source: KSTREAM-SOURCE-0000000000 (topics: [table])\n"
        "      --> KTABLE-SOURCE-0000000001\n"
        "    Processor: KTABLE-SOURCE-0000000001 (stores: [rows])\n"
        "      --> none\n"
        "      <-- KSTREAM-SOURCE-0000000000\n"
        "  Sub-topology: 1\n"
        "    Source: KSTREAM-SOURCE-0000000002 (topics: [in])\n"
        "      --> KSTREAM-PROCESSOR-0000000003\n"
        "    Processor: KSTREAM-PROCESSOR-0000000003 (stores: [])\n"
        "      --> KSTREAM-SINK-0000000004\n"
        "      <-- KSTREAM-SOURCE-0000000002\n"
        "    Sink: KSTREAM-SINK-0000000004 (topic: out)\n"
        "      <-- KSTREAM-PROCESSOR-0000000003\n"
        "\n"
    )


KINDS = {
    "timestamped": (
        hr.Stores.timestamped_key_value("s"),
        lambda store, record: store.put(record.key, record.value, record.timestamp_ms),
        lambda store: list(store.all()),
        [("a", ("x", 3))],
    ),
    "window": (
        hr.Stores.window("s", retention=MINUTE, window_size=timedelta(milliseconds=10)),
        lambda store, record: store.put(record.key, record.value, record.timestamp_ms),
        lambda store: list(store.fetch("a", 0, 100)),
        [(3, "x")],
    ),
    "session": (
        hr.Stores.session("s", retention=MINUTE),
        lambda store, record: store.put(hr.Windowed(record.key, hr.Window(1, record.timestamp_ms)), record.value),
        lambda store: [(str(session), value) for session, value in store.fetch("a")],
        [("[a@1/3]", "x")],
    ),
    "versioned": (
        hr.Stores.versioned_key_value("s", history=MINUTE),
        lambda store, record: store.put(record.key, record.value, record.timestamp_ms),
        lambda store: store.get("a").value,
        "x",
    ),
}


@pytest.mark.parametrize("add", ["add_global_store", "add_read_only_state_store"])
@pytest.mark.parametrize("kind", KINDS)
def test_stores_of_every_kind_are_read_but_not_written(add, kind):
    spec, put, read, expected = KINDS[kind]
    seen = []

    class Keep(hr.Processor):
        def process(self, record):
            put(self.context.state_store("s"), record)

    class Use(hr.Processor):
        def process(self, record):
            store = self.context.state_store("s")
            seen.append(read(store))
            put(store, record)

    builder = hr.StreamsBuilder()
    getattr(builder, add)(spec, "table", Keep, name="keep")
    builder.stream("in").process(Use, stores=["s"])
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("table").pipe("a", "x", 3)
        with pytest.raises(hr.StreamsError, match=r"Store 's' (belongs|is read-only)"):
            driver.input_topic("in").pipe("a", "y", 4)
        assert seen == [expected]


class Scheduling(hr.Processor):
    def process(self, record):
        self.context.schedule(MINUTE, hr.PunctuationType.STREAM_TIME, print)


class Timing(hr.Processor):
    def process(self, record):
        self.context.state_store(ROWS).put(record.key, str(self.context.current_stream_time_ms))


@pytest.mark.parametrize(("factory", "member"), [(Scheduling, r"schedule\(\)"), (Timing, "current_stream_time_ms")])
def test_the_processor_of_a_global_store_has_no_stream_time(factory, member):
    builder = hr.StreamsBuilder()
    builder.add_global_store(ROWS, "table", factory, name="keep").stream("in").process(Reading, stores=[ROWS])
    problem = f"keep: {member} is not available to the processor of a global store"
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(hr.StreamsError, match=problem):
        driver.input_topic("table").pipe("a", "x", 1)


def test_errors_of_the_processor_are_handled_and_counted_once():
    class Picky(hr.Processor):
        def process(self, record):
            self.context.state_store(ROWS).put(record.key, str(int(record.value)))

    builder = hr.StreamsBuilder()
    builder.add_global_store(ROWS, "table", Picky, name="keep")
    builder.stream("in").process(Reading, stores=[ROWS]).to("out")
    config = hr.StreamsConfig(application_id="test", processing_exception_handler="continue")
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("table").pipe("a", "one", 1)
        driver.input_topic("table").pipe("a", "1", 2)
        driver.input_topic("in").pipe("a", "x", 3)
        assert [record.value for record in driver.output_topic("out").read_all()] == ["x:1"]
        assert sum(driver.metrics()["keep"]["dropped"].values()) == 1


class Greedy(Appending):
    def stores(self):
        return [ROWS, hr.Stores.key_value("more")]


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda b: b.add_global_store("rows", "t", Appending), "takes a store spec"),
        (lambda b: b.add_global_store(ROWS, "t", Appending()), "the processor .* itself"),
        (lambda b: b.add_global_store(ROWS, "t", Greedy), r"declares the stores \['more'\]"),
        (lambda b: (b.stream("t"), b.add_global_store(ROWS, "t", Appending)), "was given topic 't', which source"),
        (lambda b: (b.stream("t"), b.add_read_only_state_store(ROWS, "t", Appending)), "was given topic 't', which"),
        (lambda b: (b.add_global_store(ROWS, "t", Appending), b.stream("t")), "can be read only once"),
        (lambda b: b.add_state_store(ROWS).add_global_store(ROWS, "t", Appending), "already a store named 'rows'"),
    ],
)
def test_malformed_stores_of_topics_are_refused(build, problem):
    with pytest.raises(hr.TopologyError, match=problem):
        build(hr.StreamsBuilder())


def test_no_node_follows_the_processor_of_a_global_store_and_it_uses_no_other_store():
    topology = hr.Topology().add_global_store(ROWS, "source", "table", "keep", Appending)
    with pytest.raises(hr.TopologyError, match="of a global table as parent"):
        topology.add_sink("sink", "out", "keep")
    topology.add_state_store(hr.Stores.key_value("more"))
    with pytest.raises(hr.TopologyError, match="maintains global store 'rows' and can use no other store"):
        topology.connect_processor_and_state_stores("keep", "more")


def test_a_global_store_that_no_processor_reads_can_be_queried(tmp_path):
    builder = hr.StreamsBuilder()
    ADD["global"](builder, name="keep")
    builder.stream("in").to("out")
    topology = builder.build()
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("table").pipe("a", "x", 1)
        assert driver.store(ROWS).get("a") == "x@1;"
    runtime = PlanRuntime(tmp_path)
    _, metrics = runtime.run(topology, RECORDS)
    assert hr.Streams(topology, runtime.config()).store(ROWS).get("a") == "x@1;y@2h;"
    assert metrics["keep"] == {"counters": {"seen": 3}}
