"""What an error that stops the application says: sink, topic and serde of a result, and which handler would skip it."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver

WHEN = "failed on record in-0@0 (key 'k', timestamp 5), task 0_0"


def hint(kind):
    return f"{kind}_exception_handler='continue' or 'dead_letter' drops such records."


def message_of(runtime, topology, value=1.5, **config):
    with pytest.raises(hr.ProcessingError) as raised:
        runtime.run(topology, [("in", "k", value, 5)], config=config)
    return str(raised.value)


def sink(value_serde=None, key_serde=None, topic="out"):
    builder = hr.StreamsBuilder()
    copied = builder.stream("in").map_values(lambda value: value, name="copy")
    copied.to(topic, key_serde=key_serde, value_serde=value_serde, name="writes")
    return builder.build()


def test_a_value_that_a_sink_cannot_encode(runtime):
    assert message_of(runtime, sink(value_serde=serdes.Long())) == (
        f"writes {WHEN}: the value for topic 'out': Long() cannot serialize 1.5 of type float: required argument is "
        f"not an integer. Give the sink another serde: to('out', value_serde=...)\n{hint('production')}"
    )


def test_a_key_that_a_sink_cannot_encode(runtime):
    assert message_of(runtime, sink(key_serde=serdes.Long())) == (
        f"writes {WHEN}: the key for topic 'out': Long() cannot serialize 'k' of type str: required argument is "
        f"not an integer. Give the sink another serde: to('out', key_serde=...)\n{hint('production')}"
    )


def test_a_text_that_has_no_bytes(runtime):
    builder = hr.StreamsBuilder()
    broken = builder.stream("in").map_values(lambda value: "\ud800", name="break")
    broken.to("out", value_serde=serdes.String(), name="writes")
    assert message_of(runtime, builder.build()) == (
        f"writes {WHEN}: the value for topic 'out': String() cannot serialize '\\ud800' of type str: 'utf-8' codec "
        "can't encode character '\\ud800' in position 0: surrogates not allowed. Give the sink another serde: "
        f"to('out', value_serde=...)\n{hint('production')}"
    )


def test_a_value_for_a_topic_that_a_function_chooses(runtime):
    topology = sink(value_serde=serdes.Long(), topic=lambda key, value, context: "chosen")
    assert message_of(runtime, topology) == (
        f"writes {WHEN}: the value for topic 'chosen': Long() cannot serialize 1.5 of type float: required argument is "
        f"not an integer. Give the sink another serde: to('chosen', value_serde=...)\n{hint('production')}"
    )


def test_a_key_that_cannot_be_repartitioned(runtime):
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by(lambda key, value: 3, name="by").count().to_stream().to("out")
    assert message_of(runtime, builder.build()) == (
        f"by-repartition-sink {WHEN}: the key for topic 'by-repartition': String() cannot serialize 3 of type int: "
        "expected a str; pass the serde of its type to the topic or operator, e.g. serdes.Long(). Give the operator "
        f"that repartitions another serde: key_serde=...\n{hint('production')}"
    )


def test_a_result_of_a_join_that_a_sink_cannot_encode(runtime):
    builder = hr.StreamsBuilder()
    joined = builder.stream("in").left_join(builder.table("rows"), lambda value, row: value, name="join")
    joined.to("out", value_serde=serdes.Long(), name="writes")
    assert message_of(runtime, builder.build()) == (
        f"writes {WHEN}: the value for topic 'out': Long() cannot serialize 1.5 of type float: required argument is "
        f"not an integer. Give the sink another serde: to('out', value_serde=...)\n{hint('production')}"
    )


def test_a_function_that_fails_names_its_handler_after_the_line_that_raised(runtime):
    builder = hr.StreamsBuilder()
    builder.stream("in").map_values(lambda value: value / 0, name="divide").to("out")
    first, line, last = message_of(runtime, builder.build()).splitlines()
    assert first == f"divide {WHEN}: ZeroDivisionError: float division by zero"
    assert line.startswith(f"  at {__file__}:")
    assert last == hint("processing")


def test_an_undecodable_record_names_its_handler():
    builder = hr.StreamsBuilder()
    builder.stream("in", name="reads").map_values(str).to("out")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(hr.ProcessingError) as raised:
        driver.input_topic("in", value_serde=serdes.Bytes()).pipe("k", b"{", 5)
    assert str(raised.value).splitlines()[-1] == hint("deserialization")


def test_a_punctuation_that_fails_names_its_handler():
    class Failing(hr.Processor):
        def init(self, context):
            context.schedule(timedelta(seconds=1), hr.PunctuationType.WALL_CLOCK_TIME, lambda time_ms: time_ms / 0)

        def process(self, record):
            pass

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Failing).to("out")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(hr.ProcessingError) as raised:
        driver.advance_wall_clock(timedelta(seconds=1))
    assert str(raised.value).splitlines()[-1] == hint("processing")


def test_a_handler_that_answers_fail_needs_no_hint(runtime):
    topology = sink(value_serde=serdes.Long())
    assert message_of(runtime, topology, production_exception_handler=lambda failed: "fail").endswith(
        "value_serde=...)"
    )


def test_the_hint_names_the_handler_of_the_operator_that_failed_not_the_one_that_is_set(runtime):
    topology = sink(value_serde=serdes.Long())
    message = message_of(runtime, topology, processing_exception_handler="continue")
    assert message.splitlines()[-1] == hint("production")


def test_no_handler_is_named_for_an_error_of_state(runtime):
    class Reading(hr.Processor):
        def process(self, record):
            self.context.state_store("missing")

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Reading, name="reads").to("out")
    assert "exception_handler" not in message_of(runtime, builder.build())


JAVA_CALLS = {
    "self.context.current_system_time_ms": lambda self, record: self.context.current_system_time_ms(),
    "self.context.task_id": lambda self, record: self.context.task_id(),
    "self.context.record_metadata": lambda self, record: self.context.record_metadata().topic,
    "self.context.record_metadata.topic": lambda self, record: self.context.record_metadata.topic(),
    "self.context.app_configs": lambda self, record: self.context.app_configs(),
    "record.key": lambda self, record: record.key(),
}


@pytest.mark.parametrize("written", JAVA_CALLS)
def test_a_property_that_is_called_like_a_method(runtime, written):
    class Calling(hr.Processor):
        process = JAVA_CALLS[written]

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Calling, name="calls").to("out")
    first, *_ = message_of(runtime, builder.build()).splitlines()
    assert first.startswith(f"calls {WHEN}: TypeError: '")
    assert first.endswith(f"' object is not callable. Write {written} without parentheses: it is not a method")


def test_a_property_that_is_called_in_init():
    class Calling(hr.Processor):
        def init(self, context):
            self.task = context.task_id()

        def process(self, record):
            pass

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Calling, name="calls").to("out")
    with pytest.raises(hr.ProcessingError, match=r"Write context\.task_id without parentheses: it is not a method\n"):
        TopologyTestDriver(builder.build())


def test_a_call_with_arguments_of_something_that_is_no_function_gets_no_advice(runtime):
    builder = hr.StreamsBuilder()
    builder.stream("in").map_values(lambda value: value(1), name="call").to("out")
    first, *_ = message_of(runtime, builder.build()).splitlines()
    assert first == f"call {WHEN}: TypeError: 'float' object is not callable"
