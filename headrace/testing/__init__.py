"""Tests topologies without Java, Spark or a broker."""

from headrace._suggestions.install import suggest_names
from headrace.testing.driver import TestInputTopic, TestOutputTopic, TopologyTestDriver, run_stream, run_table

__all__ = ["TestInputTopic", "TestOutputTopic", "TopologyTestDriver", "run_stream", "run_table"]

suggest_names([globals()[name] for name in __all__])
