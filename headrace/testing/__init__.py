"""Tests topologies without Java, Spark or a broker."""

from headrace.testing.driver import TestInputTopic, TestOutputTopic, TopologyTestDriver, run_stream, run_table

__all__ = ["TestInputTopic", "TestOutputTopic", "TopologyTestDriver", "run_stream", "run_table"]
