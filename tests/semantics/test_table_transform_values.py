"""transform_values of a table: stores of its own, deletions, old values, restarts."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, Stores, StreamsBuilder, StreamsError, TopologyError, serdes
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import DriverRuntime
from tests.support.steps import each_step, slashed

CALLS = Stores.key_value("calls", value_serde=serdes.Long())


class Numbering(hr.ValueTransformerWithKey[str, str, str]):
    """Appends the number of calls for the key, also those for deleted rows."""

    def transform(self, key, value):
        calls = self.context.state_store(CALLS)
        number = (calls.get(key) or 0) + 1
        calls.put(key, number)
        return None if value is None else f"{value}{number}"


class Forwarding(hr.ValueTransformerWithKey[str, str, str]):
    def transform(self, key, value):
        self.context.forward(Record(key, value))


class Ticking(hr.ValueTransformerWithKey[str, str, str]):
    """Shows how often stream time fired its schedule."""

    def init(self, context):
        super().init(context)
        self.ticks = 0
        context.schedule(timedelta(milliseconds=10), hr.PunctuationType.STREAM_TIME, self.tick)

    def tick(self, timestamp_ms):
        self.ticks += 1

    def transform(self, key, value):
        return f"{value} after {self.ticks}"


STEPS = [("in", "a", "x", 1), ("in", "a", "y", 2), ("in", "b", "z", 3), ("in", "a", None, 4), ("in", "a", "x", 5)]


def totals(table):
    grouped = table.group_by(lambda key, value: ("all", value))
    return grouped.aggregate(str, lambda _, value, seen: f"{seen}+{value}", lambda _, value, seen: f"{seen}-{value}")


def test_a_transformer_uses_its_stores_and_sees_deletions(runtime):
    builder = StreamsBuilder()
    builder.table("in").transform_values(Numbering, stores=[CALLS], store="rows").to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), STEPS)
    assert outputs == {
        "out": [
            Record("a", "x1", 1),
            Record("a", "y2", 2),
            Record("b", "z1", 3),
            Record("a", None, 4),
            Record("a", "x4", 5),
        ]
    }


def test_old_values_come_from_the_store_or_else_from_another_call():
    stored, computed = StreamsBuilder(), StreamsBuilder()
    totals(stored.table("in").transform_values(Numbering, stores=[CALLS], store="rows")).to_stream().to("out")
    totals(computed.table("in").transform_values(Numbering, stores=[CALLS])).to_stream().to("out")
    assert each_step(stored.build(), STEPS[:2])[1] == ["all=+x1-x1+y2@2"]
    assert each_step(computed.build(), STEPS[:2])[1] == ["all=+x1-x4+y3@2"]


@pytest.mark.parametrize("store", [None, "rows"])
def test_a_transformed_table_can_be_looked_up_without_further_calls(store):
    builder = StreamsBuilder()
    rows = builder.table("in").transform_values(Numbering, stores=[CALLS], store=store)
    builder.stream("stream").left_join(rows, slashed).to("out")
    steps = [*STEPS[:2], ("stream", "a", "s", 9), ("stream", "a", "t", 10), ("stream", "c", "u", 11)]
    assert each_step(builder.build(), steps)[2:] == [["a=s/y2@9"], ["a=t/y2@10"], ["c=u/None@11"]]


def test_a_transformed_versioned_table_is_looked_up_as_of_the_time_of_the_record():
    builder = StreamsBuilder()
    source = builder.table("in", store=Stores.versioned_key_value("in", history=timedelta(seconds=1)))
    rows = source.transform_values(Numbering, stores=[CALLS]).map_values(str.upper)
    builder.stream("stream").left_join(rows, slashed).to("out")
    steps = [*STEPS[:2], ("stream", "a", "s", 1), ("stream", "a", "t", 3)]
    assert each_step(builder.build(), steps)[2:] == [["a=s/X1@1"], ["a=t/Y2@3"]]


def test_state_of_a_transformer_survives_restarts():
    builder = StreamsBuilder()
    builder.table("in").transform_values(Numbering, stores=[CALLS]).to_stream().to("out")
    written = each_step(builder.build(), STEPS, restarts=True)
    assert written == [["a=x1@1"], ["a=y2@2"], ["b=z1@3"], ["a=None@4"], ["a=x4@5"]]


def test_a_transformer_may_schedule_punctuations():
    builder = StreamsBuilder()
    builder.table("in").transform_values(Ticking).to_stream().to("out")
    steps = [("in", "a", "x", 0), ("in", "a", "y", 12), ("in", "a", "z", 13)]
    assert each_step(builder.build(), steps) == [["a=x after 0@0"], ["a=y after 1@12"], ["a=z after 2@13"]]


def test_a_transformer_is_closed_with_the_driver():
    closed = []

    class Closing(hr.ValueTransformerWithKey[str, str, str]):
        def transform(self, key, value):
            return value

        def close(self):
            closed.append(True)

    builder = StreamsBuilder()
    builder.table("in").transform_values(Closing).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("a", "x", timestamp_ms=1)
    assert closed == [True]


def test_a_transformer_cannot_forward():
    builder = StreamsBuilder()
    builder.table("in").transform_values(Forwarding).to_stream().to("out")
    with pytest.raises(StreamsError, match=r"forward\(\) was called .* Return the new value from transform\(\)"):
        DriverRuntime().run(builder.build(), [("in", "a", "x", 1)])


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (Numbering(), "was given the processor .* itself, which tasks cannot share"),
        (7, "was given 7 of type int"),
        (lambda key: Numbering(), "which needs the arguments key"),
    ],
)
def test_what_cannot_create_transformers_is_refused(factory, message):
    with pytest.raises(TopologyError, match=message):
        StreamsBuilder().table("in").transform_values(factory)


def test_a_factory_of_something_else_is_refused_at_the_start():
    builder = StreamsBuilder()
    builder.table("in").transform_values(lambda: print).to_stream().to("out")
    with pytest.raises(TopologyError, match="it must return a ValueTransformerWithKey"):
        DriverRuntime().run(builder.build(), [("in", "a", "x", 1)])
