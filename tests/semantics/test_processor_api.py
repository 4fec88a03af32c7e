"""Processors and low-level topologies: stores, lifecycle, context, and invalid uses."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, serdes
from headrace.testing import TopologyTestDriver


class Passing(hr.Processor):
    def process(self, record):
        self.context.forward(record)


class Counting(hr.Processor):
    """Counts in a field and in a store."""

    def init(self, context):
        super().init(context)
        self.counted = 0
        self.store = context.state_store("counts")

    def process(self, record):
        self.counted += 1
        self.store.put("all", (self.store.get("all") or 0) + 1)
        self.context.forward(record.with_value([self.counted, self.store.get("all")]))


def counts(name="counts"):
    return hr.Stores.key_value(name, value_serde=serdes.Long())


def test_fields_last_as_long_as_the_task_and_stores_longer(runtime):
    builder = hr.StreamsBuilder()
    builder.stream("in").process(Counting, stores=[counts()]).to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "v", t) for t in range(3)])
    assert [record.value for record in outputs["out"]] == [[1, 1], [2, 2], [3, 3]]


def test_a_restart_resets_fields_and_keeps_stores():
    builder = hr.StreamsBuilder()
    builder.stream("in").process(Counting, stores=[counts()]).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 1)
        driver.restart()
        driver.input_topic("in").pipe("k", "v", 2)
        assert [record.value for record in driver.output_topic("out").read_all()] == [[1, 1], [1, 2]]
        assert driver.store("counts").get("all") == 2


def test_changes_of_a_failed_record_to_stores_are_rolled_back():
    class Failing(Counting):
        def process(self, record):
            super().process(record)
            if record.value == "bad":
                raise ValueError("bad")

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Failing, stores=[counts()]).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 1)
        with pytest.raises(hr.ProcessingError, match="KSTREAM-PROCESSOR-0000000001 failed on record in-0@1"):
            driver.input_topic("in").pipe("k", "bad", 2)
        driver.input_topic("in").pipe("k", "v", 3)
        assert [record.value for record in driver.output_topic("out").read_all()] == [[1, 1], [1, 2]]


def test_processors_share_a_store_that_both_get_by_object_or_by_name(runtime):
    class Reading(hr.Processor):
        def process(self, record):
            self.context.forward(record.with_value(self.context.state_store("counts").get("all")))

    shared = counts()
    builder = hr.StreamsBuilder()
    builder.stream("in").process(Counting, stores=[shared]).to("counted")
    builder.stream("other").process(Reading, stores=[shared]).to("out")
    builder.stream("third").process(Reading, stores=["counts"]).to("out3")
    topology = builder.build()
    assert len(topology._graph.sub_topologies) == 1
    outputs, _ = runtime.run(topology, [("in", "k", "v", 1), ("other", "k", "v", 2), ("third", "k", "v", 3)])
    assert outputs["out"] == [Record("k", 1, 2)]
    assert outputs["out3"] == [Record("k", 1, 3)]


def test_a_processor_can_use_the_store_of_an_aggregation():
    class Looking(hr.Processor):
        def process(self, record):
            self.context.forward(record.with_value(self.context.state_store("totals").get(record.key)))

    builder = hr.StreamsBuilder()
    stream = builder.stream("in")
    stream.group_by_key().count(store="totals")
    stream.process(Looking, stores=["totals"]).to("out", value_serde=serdes.Json())
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 5)
        assert driver.output_topic("out").read_all() == [Record("k", [1, 5], 5)]


def test_registered_store_is_used_by_its_name():
    builder = hr.StreamsBuilder().add_state_store(counts())
    builder.stream("in").process(Counting, stores=["counts"]).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 5)
        assert driver.store("counts").get("all") == 1


def test_process_requires_a_repartition_and_process_values_does_not():
    builder = hr.StreamsBuilder()
    builder.stream("in").process(Passing).group_by_key().count()
    builder.stream("values").process_values(Passing).group_by_key().count()
    repartitions = [node.topic for node in builder.build()._graph.nodes if hasattr(node, "topic")]
    assert len(repartitions) == 1


def test_context_has_its_task_its_application_its_clock_and_its_input_record():
    class Reporting(hr.Processor):
        def process(self, record):
            context = self.context
            assert context.record_metadata == ("in", 2, 0)
            context.commit()
            context.forward(
                record.with_value([context.task_id, context.application_id, context.current_system_time_ms])
            )

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Reporting).to("out")
    with TopologyTestDriver(builder.build(), wall_clock_ms=70) as driver:
        driver.advance_wall_clock(timedelta(milliseconds=7))
        driver.input_topic("in").pipe("k", "v", 1, partition=2)
        assert driver.output_topic("out").read_all() == [Record("k", ["0_2", "test", 77], 1)]


def test_processors_are_initialised_without_records_and_closed_once():
    lives = []

    class Living(Passing):
        def init(self, context):
            super().init(context)
            assert context.record_metadata.topic is None
            lives.append("init")

        def close(self):
            lives.append("close")

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Living).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        assert lives == ["init"]
        driver.restart()
        driver.close()
    assert lives == ["init", "init", "close"]


def test_records_of_a_wall_clock_punctuation_pass_through_later_sub_topologies():
    class Ticking(Passing):
        def init(self, context):
            super().init(context)
            tick = lambda timestamp_ms: context.forward(Record(str(timestamp_ms), "tick"))  # noqa: E731
            context.schedule(timedelta(milliseconds=10), hr.PunctuationType.WALL_CLOCK_TIME, tick)

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Ticking).group_by_key().count().to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("10", "v", 1)
        driver.advance_wall_clock(timedelta(milliseconds=10))
        assert driver.output_topic("out").read_all() == [Record("10", 1, 1), Record("10", 2, 10)]


def test_fixed_key_processor_may_not_forward_another_key():
    class Changing(hr.FixedKeyProcessor):
        def process(self, record):
            self.context.forward(record.with_key("other"))

    builder = hr.StreamsBuilder()
    builder.stream("in").process_values(Changing, name="changing").to("out")
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(hr.StreamsError, match="changing keeps the key: it was given 'k' and may not forward 'other'"),
    ):
        driver.input_topic("in").pipe("k", "v", 1)


def refused(message, build, kind=hr.TopologyError):
    with pytest.raises(kind, match=message):
        build()


def test_factories_that_do_not_return_new_processors_are_refused():
    stream = hr.StreamsBuilder().stream("in")
    refused(r"process\(\) was given the processor .* itself", lambda: stream.process(Passing()))
    refused(r"process_values\(\) was given 'x' of type str", lambda: stream.process_values("x"))
    refused(r"process\(\) was given .*, which needs the arguments a, b", lambda: stream.process(lambda a, b, c=1: None))
    shared = Passing()
    for factory, message in (
        (lambda: shared, "factory of 'node' returned the same Passing twice"),
        (lambda: "x", "factory of 'node' returned 'x' of type str; it must return a Processor"),
    ):
        topology = hr.Topology().add_source("source", "in").add_processor("node", factory, parents=["source"])
        refused(message, lambda topology=topology: TopologyTestDriver(topology))


def test_the_error_of_a_failing_init_names_the_node():
    class Failing(Passing):
        def init(self, context):
            raise RuntimeError("no licence")

    topology = hr.Topology().add_source("source", "in").add_processor("node", Failing, parents=["source"])
    refused(
        "node failed while creating and initialising its processor.* no licence",
        lambda: TopologyTestDriver(topology),
        hr.ProcessingError,
    )


def test_forward_outside_of_processing_is_refused():
    class Early(Passing):
        def init(self, context):
            context.forward(Record("k", "v"))

    topology = hr.Topology().add_source("source", "in").add_processor("node", Early, parents=["source"])
    refused(r"node: forward\(\) was called outside", lambda: TopologyTestDriver(topology), hr.StreamsError)


def test_unknown_or_unconnected_stores_are_refused_and_the_error_lists_the_connected_ones():
    class Asking(Passing):
        def __init__(self, wanted):
            self.wanted = wanted

        def init(self, context):
            context.state_store(self.wanted)

    def asking(wanted):
        return (
            hr.Topology()
            .add_source("source", "in")
            .add_processor("asking", lambda: Asking(wanted), parents=["source"])
            .add_processor("other", Passing, parents=["source"])
            .add_state_store(counts("mine"), processors=["asking"])
            .add_state_store(counts("theirs"), processors=["other"])
        )

    TopologyTestDriver(asking("mine"))
    message = (
        r"Store 'theirs' is not connected to processor 'asking'. Connected to it: 'mine'. .*processors=\['asking'\]"
    )
    refused(message, lambda: TopologyTestDriver(asking("theirs")), hr.StateError)
    message = r"'asking' asks for the store 'mime', .*Did you mean 'mine'\?.* Known stores: 'mine', 'theirs'"
    refused(message, lambda: TopologyTestDriver(asking("mime")), hr.StateError)


def test_invalid_topologies_are_refused_and_the_error_lists_the_known_names():
    def base():
        return hr.Topology().add_source("source", "in", ["more", "most"]).add_processor("p", Passing, "source")

    base().add_sink("sink", "out", "p").add_state_store(counts(), "p")
    refused("already a node named 'p'", lambda: base().add_processor("p", Passing, ["source"]))
    refused("no node named 'q'. Known nodes: 'p', 'source'", lambda: base().add_sink("sink", "out", ["q"]))
    refused("Node 'sink' was given no parents", lambda: base().add_sink("sink", "out", []))
    refused("no node named 'q'.* Known nodes", lambda: base().add_state_store(counts(), processors=["q"]))
    refused("'source' is a source or sink; only processors", lambda: base().add_state_store(counts(), "source"))
    refused("already a store named 'counts'", lambda: base().add_state_store(counts()).add_state_store(counts()))
    refused("asks for the store 'x', which does not exist", lambda: base().connect_processor_and_state_stores("p", "x"))
    refused("names topic 'more', which is already read by source 'source'", lambda: base().add_source("s", "more"))
    refused("names topic 'a', which is already read by this very source", lambda: base().add_source("s", "a", "a"))
    refused("Source 's' was given no topic", lambda: base().add_source("s"))
    refused(r"add_state_store\(\) was given 'counts'", lambda: base().add_state_store("counts"))
    refused("names the sink 'sink' as parent", lambda: base().add_sink("sink", "out", "p").add_sink("t", "o", "sink"))
    refused("already a store named 'counts'", lambda: two_different_stores_of_one_name())


def two_different_stores_of_one_name():
    stream = hr.StreamsBuilder().stream("in")
    stream.process(Counting, stores=[counts()]).process(Counting, stores=[counts()])


def test_topology_of_a_builder_can_be_extended_without_changing_the_builder():
    builder = hr.StreamsBuilder()
    builder.stream("in", name="source").to("out")
    topology = builder.build()
    topology.add_processor("p", Passing, ["source"]).add_sink("sink", "more", ["p"])
    assert (topology._graph.sink_topics, builder.build()._graph.sink_topics) == (("out", "more"), ("out",))


def test_description_shows_processors_with_their_stores():
    topology = (
        hr.Topology()
        .add_source("source", "in")
        .add_processor("first", Passing, ["source"])
        .add_processor("second", Passing, ["first"])
        .add_state_store(counts("a"), ["first"])
        .add_state_store(counts("b"), ["first"])
        .connect_processor_and_state_stores("second", "a")
        .add_sink("sink", "out", ["second"])
    )
    assert topology.describe() == (
        "Topologies:\n   Sub-topology: 0\n"
        "    Source: source (topics: [in])\n      --> first\n"
        "    Processor: first (stores: [a, b])\n      --> second\n      <-- source\n"
        "    Processor: second (stores: [a])\n      --> sink\n      <-- first\n"
        "    Sink: sink (topic: out)\n      <-- second\n\n"
    )
    assert '[("a")]' in topology.to_mermaid()
