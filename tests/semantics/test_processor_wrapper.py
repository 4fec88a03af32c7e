"""`processor_wrapper` (KIP-1112): wraps the processing of every operator."""

from __future__ import annotations

import re

import pytest

import headrace as hr
from headrace.testing import TopologyTestDriver


def tracing(name, process):
    """Adds a header with the operator's name to every record that it processes."""

    def traced(record):
        process(record.with_headers(hr.Headers(record.headers).add("via", name.encode())))

    return traced


class Passing(hr.Processor):
    def process(self, record):
        self.context.forward(record)


def path(record):
    return [value.decode() for value in hr.Headers(record.headers).values("via")]


def test_every_operator_is_wrapped_but_sources_and_sinks(runtime):
    builder = hr.StreamsBuilder()
    stream = builder.stream("in", name="source").filter(lambda key, value: value > 0, name="positive")
    stream.process(Passing, name="own").group_by_key(name="grouped").count(name="count").to_stream(name="changes").to(
        "out", name="sink"
    )
    records = [("in", "k", 1, 1), ("in", "k", -1, 2), ("in", "k", 2, 3)]
    outputs, _ = runtime.run(builder.build(), records, config={"processor_wrapper": tracing})
    assert [(record.key, record.value, record.timestamp_ms) for record in outputs["out"]] == [("k", 1, 1), ("k", 2, 3)]
    whole = ["positive", "own", "grouped-repartition-filter", "count", "changes"]
    assert [path(record) for record in outputs["out"]] == [whole, whole]


def test_table_operators_see_changes_and_may_drop_records():
    seen = []

    def watching(name, process):
        def watched(record):
            seen.append((name, record.value))
            if record.key != "hidden":
                process(record)

        return watched

    builder = hr.StreamsBuilder()
    builder.table("in", name="table").map_values(str.upper, name="upper").to_stream(name="changes").to("out")
    config = hr.StreamsConfig(application_id="test", processor_wrapper=watching)
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("in").pipe("k", "x", 1)
        driver.input_topic("in").pipe("hidden", "y", 2)
        assert driver.output_topic("out").read_all() == [hr.Record("k", "X", 1)]
    assert seen == [
        ("table", "x"),
        ("upper", hr.Change("x", None)),
        ("changes", hr.Change("X", None)),
        ("table", "y"),
    ]


def test_an_error_of_the_wrapper_is_one_of_the_operator():
    def failing(name, process):
        def fail(record):
            raise ValueError(record.value)

        return fail

    builder = hr.StreamsBuilder()
    builder.stream("in").map_values(str.upper, name="upper").to("out")
    settings = {"application_id": "test", "processor_wrapper": failing}
    with (
        TopologyTestDriver(builder.build(), hr.StreamsConfig(**settings)) as driver,
        pytest.raises(hr.ProcessingError, match="ValueError: x"),
    ):
        driver.input_topic("in").pipe("k", "x", 1)
    config = hr.StreamsConfig(**settings, processing_exception_handler="continue")
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("in").pipe("k", "x", 1)
        assert sum(driver.metrics()["upper"]["dropped"].values()) == 1


def test_a_wrapper_that_is_no_function_or_returns_none_is_refused():
    with pytest.raises(hr.ConfigError, match="processor_wrapper is 'tracing'; it must be None, or a function"):
        hr.StreamsConfig(application_id="test", processor_wrapper="tracing")
    builder = hr.StreamsBuilder()
    builder.stream("in").map_values(str.upper, name="upper").to("out")
    config = hr.StreamsConfig(application_id="test", processor_wrapper=lambda name, process: None)
    problem = re.escape("processor_wrapper returned None for 'upper'; it must return a function (record)")
    with TopologyTestDriver(builder.build(), config) as driver, pytest.raises(hr.ConfigError, match=problem):
        driver.input_topic("in").pipe("k", "x", 1)
