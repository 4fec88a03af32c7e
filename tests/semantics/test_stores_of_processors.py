"""Stores that processors and factories declare themselves (KIP-401)."""

from __future__ import annotations

from functools import partial

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver


def counts():
    """A new, equal spec at every call."""
    return hr.Stores.key_value("counts", value_serde=serdes.Long())


class Counting(hr.Processor):
    def process(self, record):
        store = self.context.state_store("counts")
        store.put(record.key, (store.get(record.key) or 0) + 1)
        self.context.forward(record.with_value(store.get(record.key)))


class ByMethod(Counting):
    def stores(self):
        return [counts()]


class ByClass(Counting):
    @classmethod
    def stores(cls):
        return [counts()]


class ByStatic(Counting):
    @staticmethod
    def stores():
        return {counts()}


class WithArgument(Counting):
    def __init__(self, spec):
        self.spec = spec

    def stores(self):
        return (self.spec,)


class CountingValues(hr.FixedKeyProcessor):
    process = Counting.process

    def stores(self):
        return [counts()]


class Supplier:
    """A factory that is an object, like Kafka's `ProcessorSupplier`."""

    def __call__(self):
        return Counting()

    def stores(self):
        return [counts()]


def make():
    return ByMethod()


FACTORIES = {
    "method": ByMethod,
    "class method": ByClass,
    "static method": ByStatic,
    "partial": partial(WithArgument, counts()),
    "partial of class method": partial(ByClass),
    "function": make,
    "lambda": lambda: ByClass(),
    "supplier": Supplier(),
}
RECORDS = [("in", "a", "x", 1), ("in", "b", "x", 2), ("in", "a", "x", 3)]
COUNTED = [hr.Record("a", 1, 1), hr.Record("b", 1, 2), hr.Record("a", 2, 3)]


def test_a_processor_uses_the_stores_it_declares(runtime):
    builder = hr.StreamsBuilder()
    builder.stream("in").process(ByMethod).to("out")
    assert runtime.run(builder.build(), RECORDS)[0] == {"out": COUNTED}


@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
@pytest.mark.parametrize("level", ["stream", "topology"])
def test_every_kind_of_factory_can_declare_stores(factory, level):
    if level == "stream":
        builder = hr.StreamsBuilder()
        builder.stream("in").process(factory).to("out")
        topology = builder.build()
    else:
        topology = hr.Topology().add_source("source", "in").add_processor("count", factory, "source")
        topology.add_sink("sink", "out", "count")
    with TopologyTestDriver(topology) as driver:
        for topic, *record in RECORDS:
            driver.input_topic(topic).pipe(*record)
        assert driver.output_topic("out").read_all() == COUNTED
        assert driver.store("counts").get("a") == 2


def test_processors_that_declare_equal_stores_share_one():
    builder = hr.StreamsBuilder()
    builder.stream("in").process(ByMethod).to("out")
    builder.stream("other").process(ByClass).process_values(CountingValues, stores=["counts"]).to("out")
    builder.stream("third").process(ByClass).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for topic in ("in", "other", "third"):
            driver.input_topic(topic).pipe("a", "x", 1)
        assert [record.value for record in driver.output_topic("out").read_all()] == [1, 3, 4]


def test_a_store_may_be_given_and_declared():
    builder = hr.StreamsBuilder()
    builder.stream("in").process(ByMethod, stores=[counts()]).to("out")
    assert "stores: [counts]" in builder.build().describe()


def test_add_processor_takes_stores():
    topology = hr.Topology().add_source("source", "in").add_processor("p", Counting, "source", stores=[counts()])
    assert "Processor: p (stores: [counts])" in topology.describe()


class Other(Counting):
    def stores(self):
        return [hr.Stores.key_value("counts", value_serde=serdes.String())]


class Unspecified(Counting):
    def stores(self):
        return "counts"


def failing():
    raise OSError("no such host")


@pytest.mark.parametrize(
    ("factory", "problem"),
    [
        (Other, "already a store named 'counts'"),
        (Unspecified, r"stores\(\) of .* returned 'counts'; it must return a list of store specs"),
        (failing, r"process\(\) calls its factory for the stores .* failed with OSError: no such host"),
    ],
)
def test_malformed_declarations_are_refused_when_the_topology_is_built(factory, problem):
    builder = hr.StreamsBuilder()
    builder.add_state_store(counts())
    with pytest.raises(hr.TopologyError, match=problem):
        builder.stream("in").process(factory)
