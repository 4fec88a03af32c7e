"""Tests of topologies: no Java, no Spark, no broker."""

from headrace.testing.driver import TestInputTopic, TestOutputTopic, TopologyTestDriver, run_stream, run_table

__all__ = ["TestInputTopic", "TestOutputTopic", "TopologyTestDriver", "run_stream", "run_table"]
