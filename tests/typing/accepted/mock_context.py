"""A processor with a mock context."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_type

from headrace import KeyValueStore, Processor, ProcessorContext, PunctuationType, Record, RecordMetadata, Stores, serdes
from headrace.testing import CapturedForward, CapturedPunctuator, MockProcessorContext

totals = Stores.key_value("totals", value_serde=serdes.Long())


class Total(Processor[str, int, str, int]):
    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)


context = MockProcessorContext[str, int](stores=[totals], task_id="0_1")
Total().init(context)
assert_type(context.forwarded(), list[CapturedForward[str, int]])
assert_type(context.forwarded("sums")[0].record, Record[str, int])
assert_type(context.forwarded()[0].child_name, str | None)
assert_type(context.scheduled_punctuators(), list[CapturedPunctuator])
assert_type(context.state_store(totals), KeyValueStore[str, int])
assert_type(context.state_store("totals"), Any)
context.add_state_store(totals)
context.record_metadata = RecordMetadata("in", 0, 1)
context.timestamp_ms = 12
context.current_stream_time_ms = 12
context.current_system_time_ms = 12
context.schedule(timedelta(seconds=1), PunctuationType.STREAM_TIME, print).cancel()
context.scheduled_punctuators()[0].punctuate(12)
context.scheduled_punctuators()[0].punctuate()
context.commit()
context.metrics.counter("seen").add()
context.metrics.gauge("open").set(3)
assert_type(context.metric_values(), dict[str, int])
assert_type(context.commit_count, int)
context.reset_commit()
context.reset_forwards()
assert_type(MockProcessorContext(), MockProcessorContext[Any, Any])


def fits(mock: MockProcessorContext[str, int]) -> ProcessorContext[str, int]:
    return mock
