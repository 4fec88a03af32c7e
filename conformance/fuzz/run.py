"""Runs a case on Headrace's test driver."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, cast

import headrace as hr
from conformance.fuzz.build import TopicBySize, topology_of
from conformance.fuzz.description import Case
from conformance.fuzz.their_rules import following
from headrace._graph.nodes import Sink
from headrace._runtime.defaults import Defaults
from headrace.testing import TopologyTestDriver

Answer = dict[str, Any]
_PATIENCE_S = 10
CONFIG = hr.StreamsConfig(
    application_id="fuzz", default_key_serde=hr.serdes.String(), default_value_serde=hr.serdes.String()
)
DEFAULTS = Defaults.of(CONFIG)


def on_driver(case: Case, *rules: str) -> Answer:
    """What the library writes: `outputs` by topic and `stores` by name; or `refused`; or the step that `failed`.

    With rules of Kafka Streams it follows these; see `their_rules`.
    """
    with following(*rules):
        return _run(case)


def _run(case: Case) -> Answer:
    try:
        topology = topology_of(case)
        driver = TopologyTestDriver(topology, CONFIG, wall_clock_ms=0)
    except hr.StreamsError as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    written_with = {topic: DEFAULTS.serdes(sink) for topic, sink in sinks_of(topology).items()}
    outputs: dict[str, list[Any]] = {topic: [] for topic in sorted(written_with)}
    began = time.monotonic()
    with driver:
        for number, step in enumerate(case.steps):
            if time.monotonic() > began + _PATIENCE_S:
                return {"gave up": f"not done within {_PATIENCE_S} s"}
            try:
                if step[0] == "@advance":
                    driver.advance_wall_clock(timedelta(milliseconds=step[1]))
                else:
                    driver.input_topic(step[0]).pipe(*step[1:])
            except hr.StreamsError as error:
                return {"outputs": outputs, "failed": number, "message": f"{type(error).__name__}: {error}"}
            for topic, written in outputs.items():
                written += [as_listed(record) for record in driver.output_topic(topic, *written_with[topic]).read_all()]
        return {"outputs": outputs, "stores": _stores(driver, case)}


def sinks_of(topology: hr.Topology) -> dict[str, Any]:
    """The sink of every output topic; a sink that chooses among topics has several."""
    graph = topology._graph
    sinks: dict[str, Any] = {node.topic: node for node in graph.nodes if isinstance(node, Sink) and not node.internal}
    return sinks | {topic: node for node in graph.dynamic_sinks for topic in cast("TopicBySize", node.topic_of).topics}


def as_listed(record: hr.Record[Any, Any]) -> list[Any]:
    return [_readable(record.key), record.value, record.timestamp_ms]


def _readable(key: Any) -> Any:
    return str(key) if isinstance(key, hr.Windowed) else key


def _stores(driver: TopologyTestDriver, case: Case) -> dict[str, list[Any]]:
    """The final rows of the key-value stores that have a name."""
    contents = {}
    for number, node in enumerate(case.nodes):
        if "store" in node.options and "windows" not in node.options and "history" not in node.options:
            view = driver.store(f"s{number}")
            contents[f"s{number}"] = [[_readable(key), *view.get_with_timestamp(key)] for key, _ in view.all()]
    return contents
