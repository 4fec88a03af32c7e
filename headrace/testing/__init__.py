"""Tests topologies without Java, Spark or a broker."""

from headrace._public_classes import suggest_names
from headrace.testing.driver import TopologyTestDriver
from headrace.testing.input_topic import TestInputTopic
from headrace.testing.mock_context import CapturedForward, CapturedPunctuator, MockProcessorContext
from headrace.testing.output_topic import TestOutputTopic
from headrace.testing.snippets import run_stream, run_table
from headrace.testing.stores import TestStore, WritableTimestampedKeyValueStore, WritableVersionedKeyValueStore

__all__ = [
    "CapturedForward",
    "CapturedPunctuator",
    "MockProcessorContext",
    "TestInputTopic",
    "TestOutputTopic",
    "TestStore",
    "TopologyTestDriver",
    "WritableTimestampedKeyValueStore",
    "WritableVersionedKeyValueStore",
    "run_stream",
    "run_table",
]

suggest_names([globals()[name] for name in __all__])
