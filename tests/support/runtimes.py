"""The test driver, the plan runner and Spark behind one interface: records in, whole output topics out."""

from __future__ import annotations

import headrace as hr
from headrace._graph.nodes import Sink
from headrace._graph.patterns import with_matching_topics
from headrace._runtime.defaults import Defaults
from headrace.testing import TopologyTestDriver
from tests.support.plan_runner import PlanRunner

# Tests run many short queries: a quick start matters more than peak speed of the JVM.
FAST_START = {
    "spark.master": "local[2]",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Hadoop starts a process for every file it writes, and checksums are files of their own.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


class DriverRuntime:
    """The test driver: runs in this process, record by record."""

    name = "driver"

    def run(self, topology, inputs, *, config=None):
        """`inputs`: (topic, key, value, timestamp_ms) in order. Returns records by output topic, and the metrics."""
        settings = hr.StreamsConfig(application_id="test", **(config or {}))
        with TopologyTestDriver(topology, settings) as driver:
            for topic, key, value, timestamp_ms, *headers in inputs:
                driver.input_topic(topic).pipe(key, value, timestamp_ms, *headers)
            chosen = driver._runtime.outputs.keys() - set(topology._graph.source_topics)
            written = {*topology._graph.sink_topics, *(chosen if topology._graph.dynamic_sinks else ())}
            outputs = {topic: driver.output_topic(topic).read_all() for topic in written}
            return outputs, driver.metrics()


class SparkRuntime:
    """A real Spark query on embedded topics."""

    name = "spark"

    def __init__(self, spark, directory, partitions=1):
        self.spark = spark
        self.directory = directory
        self.partitions = partitions
        self.topics = hr.LocalTopics(directory / "topics")

    def config(self, **settings):
        paths = {f"{name}_dir": self.directory / name for name in ("topics", "state", "local")}
        return hr.StreamsConfig(application_id="test", **paths | settings)

    def produce(self, topology, inputs):
        defaults = Defaults.of(hr.StreamsConfig(application_id="test"))
        # Topics that match a pattern are created with their first record.
        graph = with_matching_topics(topology._graph, {topic: self.partitions for topic, *_ in inputs})
        sources = {topic: source for source in graph.user_sources for topic in source.topics}
        for topic in sources:
            if topic not in self.topics.list():
                self.topics.create(topic, partitions=self.partitions)
        for topic, key, value, timestamp_ms, *headers in inputs:
            key_serde, value_serde = defaults.serdes(sources[topic])
            record = hr.Record(key, value, timestamp_ms, *headers)
            self.topics.produce(topic, [record], key_serde=key_serde, value_serde=value_serde)

    def outputs(self, topology):
        defaults = Defaults.of(hr.StreamsConfig(application_id="test"))
        sinks = {s.topic: s for s in topology._graph.nodes if isinstance(s, Sink) and not s.internal}
        known = self.topics.list()
        outputs = {
            topic: self.topics.read(topic, *defaults.serdes(sinks[topic])) if topic in known else []
            for topic in topology._graph.sink_topics
        }
        for sink in topology._graph.dynamic_sinks[:1]:
            chosen = set(known) - set(topology._graph.source_topics) - outputs.keys()
            outputs |= {topic: self.topics.read(topic, *defaults.serdes(sink)) for topic in sorted(chosen)}
        return outputs

    def run(self, topology, inputs, *, config=None):
        self.produce(topology, inputs)
        app = hr.Streams(topology, self.config(**(config or {})), spark=self.spark)
        app.process_available()
        return self.outputs(topology), app.metrics()


class PlanRuntime(SparkRuntime):
    """The code that a Spark query runs, without Spark, which makes it a thousand times faster."""

    name = "plan"

    def __init__(self, directory):
        super().__init__(None, directory)

    def run(self, topology, inputs, *, config=None):
        self.produce(topology, inputs)
        runner = PlanRunner(topology, self.directory, config=self.config(**(config or {})))
        while runner.run_batch(limit=100):
            pass
        return self.outputs(topology), runner.metrics()
