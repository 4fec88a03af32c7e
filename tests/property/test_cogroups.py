"""A cogroup of any number of inputs equals an aggregation of their merged and tagged records, however input is cut."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

MS = timedelta(milliseconds=1)
# No record is late: in a cogroup every input has its own stream time, but a merged stream has only one.
GRACE = 1_000 * MS
WINDOWS = {
    "none": None,
    "tumbling": hr.TimeWindows.of(10 * MS, grace=GRACE),
    "hopping": hr.TimeWindows.of(10 * MS, advance=4 * MS, grace=GRACE),
    "sliding": hr.SlidingWindows.of(6 * MS, grace=GRACE),
    "session": hr.SessionWindows.of(5 * MS, grace=GRACE),
    "unlimited": hr.UnlimitedWindows.starting_at(10),
}
ALL_WINDOWS = pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)
TOPICS = ("in-0", "in-1", "in-2", "in-3")
RECORDS = st.lists(
    st.tuples(
        st.sampled_from(TOPICS),
        st.none() | st.sampled_from("abc"),
        st.sampled_from(["x", "y", "z", "del"]),
        st.integers(0, 60) | st.integers(200, 260),
    ),
    max_size=30,
)
CUTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, None, "before", "after", "restart"])), max_size=6)


def folding(number):
    """The aggregator of one input: each input folds differently, and each can delete."""
    return lambda _, value, text: None if value == "del" else f"{text or ''}{number}{value}"


def merger(_, left, right):
    return f"({left or ''}&{right or ''})"


def cogrouped(inputs, windows, re_keyed):
    builder = hr.StreamsBuilder()
    grouped = [_grouped(builder.stream(topic), re_keyed) for topic in TOPICS[:inputs]]
    together = grouped[0].cogroup(folding(0))
    for number, other in enumerate(grouped[1:], start=1):
        together = together.cogroup(other, folding(number))
    if windows is None:
        return _written(builder, together.aggregate(str))
    merge = [merger] if isinstance(windows, hr.SessionWindows) else []
    return _written(builder, together.windowed_by(windows).aggregate(str, *merge))


def aggregated(inputs, windows, re_keyed):
    builder = hr.StreamsBuilder()
    tagged = [
        builder.stream(topic).map_values(lambda value, number=number: [number, value])
        for number, topic in enumerate(TOPICS[:inputs])
    ]
    together = tagged[0]
    for other in tagged[1:]:
        together = together.merge(other)
    grouped = _grouped(together, re_keyed)
    fold = lambda key, tag, text: folding(tag[0])(key, tag[1], text)  # noqa: E731
    if windows is None:
        return _written(builder, grouped.aggregate(str, fold))
    merge = [merger] if isinstance(windows, hr.SessionWindows) else []
    return _written(builder, grouped.windowed_by(windows).aggregate(str, fold, *merge))


def _grouped(stream, re_keyed):
    return stream.group_by(lambda key, _: None if key is None else key * 2) if re_keyed else stream.group_by_key()


def _written(builder, table):
    """Writes every update, and the results of a table aggregation of old and new values."""
    table.to_stream().to("out")
    groups = table.group_by(lambda key, text: (text[-1:], text))
    groups.aggregate(str, lambda _, v, a: f"{a}+{v}", lambda _, v, a: f"{a}-{v}").to_stream().to("groups")
    return builder.build()


def of_inputs(records, inputs):
    return [record for record in records if record[0] in TOPICS[:inputs]]


def on_driver(topology, records):
    with TopologyTestDriver(topology) as driver:
        for topic, *record in records:
            driver.input_topic(topic).pipe(*record)
        return {topic: driver.output_topic(topic).read_all() for topic in ("out", "groups")}


def on_plan(topology, records, cuts, partitions=2):
    with TemporaryDirectory() as name:
        directory = Path(name)
        topics = hr.LocalTopics(directory / "topics")
        for topic in topology._graph.source_topics:
            topics.create(topic, partitions=partitions)
            topics.produce(topic, [hr.Record(*record) for at, *record in records if at == topic])
        runner = PlanRunner(topology, directory)
        for limit, event in cuts:
            if event in ("before", "after"):
                runner.run_batch(limit, fail=event)
            elif event == "restart":
                runner.restart()
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        return runner.outputs()


@ALL_WINDOWS
@settings(max_examples=examples(60))
@given(records=RECORDS, inputs=st.integers(1, 4), re_keyed=st.booleans())
def test_cogroup_equals_an_aggregation_of_the_merged_and_tagged_stream(windows, records, inputs, re_keyed):
    chosen = of_inputs(records, inputs)
    expected = on_driver(aggregated(inputs, windows, re_keyed), chosen)
    assert on_driver(cogrouped(inputs, windows, re_keyed), chosen) == expected


@ALL_WINDOWS
@settings(max_examples=examples(15))
@given(records=RECORDS, inputs=st.integers(1, 4), re_keyed=st.booleans(), cuts=CUTS)
def test_cuts_failures_and_restarts_do_not_change_the_results_of_a_cogroup(windows, records, inputs, re_keyed, cuts):
    chosen = of_inputs(records, inputs)
    topology = cogrouped(inputs, windows, re_keyed)
    whole = on_plan(topology, chosen, [])
    assert on_plan(topology, chosen, cuts) == whole
    assert on_plan(aggregated(inputs, windows, re_keyed), chosen, [])["out"] == whole["out"]
