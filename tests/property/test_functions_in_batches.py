"""Functions of keys and values do the same in batches as record by record, and are called in the same order."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace._core.columnar.stateless import functions
from headrace._runtime.spark.stages.collector import FrameCollector
from tests.support.columnar import KEYS, records, run
from tests.support.dose import examples


class Steps:
    """Steps of a stream, by name; `calls` records the calls of their functions."""

    def __init__(self, key_serde):
        self.calls = []
        self._key_serde = key_serde

    def _called(self, name, *given):
        self.calls.append((name, repr(given)))

    def filter(self, stream):
        return stream.filter(lambda key, value: self._called("filter", key, value) or value != 1)

    def filter_not(self, stream):
        return stream.filter_not(lambda key, value: self._called("filter_not", key, value) or value == 2)

    def map(self, stream):
        return stream.map(lambda key, value: self._called("map", key, value) or (key, [value]))

    def map_values(self, stream):
        return stream.map_values(lambda value: self._called("map_values", value) or {"v": value})

    def change_values(self, stream):
        """Mutates the object that other steps also receive."""

        def changed(value):
            self._called("change_values", value)
            if isinstance(value, list):
                value.append(0)
            return value

        return stream.map_values(changed)

    def map_values_with_key(self, stream):
        return stream.map_values_with_key(lambda key, value: self._called("with_key", key, value) or [repr(key), value])

    def null_values(self, stream):
        return stream.map_values(lambda value: self._called("null_values", value))

    def select_key(self, stream):
        return stream.select_key(lambda key, value: self._called("select_key", key, value) or (key if value else None))

    def twice(self, stream):
        return stream.flat_map_values(lambda value: self._called("twice", value) or [value, value])

    def none(self, stream):
        return stream.flat_map(lambda key, value: self._called("none", key, value) or [(key, value)] * (value == 3))

    def same_object(self, stream):
        """Returns the same list each time, with one more element."""

        def growing(value):
            grown = []
            for number in range(2):
                self._called("same_object", value)
                grown.append(number)
                yield grown

        return stream.flat_map_values(growing)

    def peek(self, stream):
        return stream.peek(lambda key, value: self._called("peek", key, value))

    def for_each(self, stream):
        stream.for_each(lambda key, value: self._called("for_each", key, value))
        return stream

    def branch(self, stream):
        taken = stream.split().branch(lambda key, value: self._called("branch", key, value) or value != 1, name="taken")
        return next(iter(taken.no_default().values()))

    def beside(self, stream):
        stream.map_values(lambda value: self._called("beside", value) or value).to("beside", key_serde=self._key_serde)
        return stream


STEPS = [name for name in vars(Steps) if not name.startswith("_")]


def both(build, chunks, key_serde, **settings):
    """The results and calls of both paths; without a batch form, both take the record path."""
    found = []
    for columnar in (False, True):
        steps = Steps(key_serde)
        builder = hr.StreamsBuilder()
        build(builder.stream("in", key_serde=key_serde), steps)
        found.append((run(builder.build(), chunks, key_serde, columnar=columnar, **settings), steps.calls))
    return found


def through(stream, steps, names):
    for name in names:
        stream = getattr(steps, name)(stream)
    return stream


def few(monkeypatch):
    monkeypatch.setattr(functions, "_ROWS_PER_SEGMENT", 3)
    monkeypatch.setattr(functions, "_MAX_ROWS", 5)


# "beside" writes to one topic, to which only one path may lead in a batch form.
chains = st.lists(st.sampled_from(STEPS), min_size=1, max_size=5).filter(lambda names: names.count("beside") < 2)


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("ends", ["json", "text", "both"])
def test_functions_in_batches_equal_functions_record_by_record(kind, ends, monkeypatch):
    few(monkeypatch)
    serde, keys = KEYS[kind]

    def build(stream, steps, names):
        last = through(stream, steps, names)
        if ends != "text":
            last.to("json", key_serde=serde)
        if ends != "json":
            last.map_values(lambda value: None if value is None else str(value)).to(
                "text", key_serde=serde, value_serde=serdes.String()
            )

    @settings(max_examples=examples(80))
    @given(chains, st.lists(st.tuples(records(keys), records(keys)), min_size=1, max_size=2))
    def check(names, chunks):
        by_records, in_batches = both(lambda stream, steps: build(stream, steps, names), chunks, serde)
        assert in_batches == by_records

    check()


CHANGING_KEYS = {"map", "select_key", "none"}  # an aggregation after these is repartitioned, and is not one task


def listed(value, values):
    """Mutates the aggregate, and deletes it when it is long."""
    values.append(repr(value))
    return values if len(values) < 4 else None


def reduced(aggregate, value):
    if isinstance(aggregate, dict):
        aggregate["n"] = aggregate.get("n", 0) + 1
        return aggregate
    return {"was": aggregate, "is": value}


WINDOWS = hr.TimeWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=3))
AGGREGATIONS = {
    "count": lambda grouped: grouped.count(store="kept"),
    "count in windows": lambda grouped: grouped.windowed_by(WINDOWS).count(store="kept"),
    "aggregate": lambda grouped: grouped.aggregate(list, lambda _, value, values: listed(value, values), store="kept"),
    "reduce": lambda grouped: grouped.reduce(reduced, store="kept"),
}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("kind", KEYS)
def test_functions_around_an_aggregation_equal_those_record_by_record(kind, aggregation, monkeypatch):
    few(monkeypatch)
    serde, keys = KEYS[kind]

    def build(stream, steps, before, behind):
        grouped = through(stream, steps[0], before).group_by_key(key_serde=serde)
        results = AGGREGATIONS[aggregation](grouped).to_stream()
        last = through(results, steps[1], behind)
        last.map_values_with_key(lambda key, value: repr((key, value))).select_key(lambda key, value: "all").to("out")

    keeping = chains.map(lambda names: [name for name in names if name not in CHANGING_KEYS])
    behind = chains.map(lambda names: [name for name in names if name not in {"beside", *CHANGING_KEYS}])

    @settings(max_examples=examples(80))
    @given(keeping, behind, st.lists(st.tuples(records(keys)), min_size=1, max_size=3))
    def check(before, behind, chunks):
        # A count forwards a whole batch at once, so functions after it are called after all those before it.
        def built(stream, steps):
            build(stream, (steps, Steps(serde) if "count" in aggregation else steps), before, behind)

        by_records, in_batches = both(built, chunks, serde)
        assert in_batches == by_records

    check()


def test_records_are_processed_one_by_one_from_the_chunk_with_an_undecodable_record_on():
    def chunk(*values):
        return [("a", value, 10 * number, ()) for number, value in enumerate(values)]

    chunks = [(chunk(1, 2), chunk(3, b"{", 4)), (chunk(5),)]
    by_records, in_batches = both(
        lambda stream, steps: steps.map_values(stream).to("out"),
        chunks,
        serdes.String(),
        deserialization_exception_handler="continue",
    )
    assert in_batches == by_records
    (_, _, counters), calls = in_batches
    assert [given for _, given in calls] == ["(1,)", "(3,)", "(2,)", "(4,)", "(5,)"]
    assert counters == {
        "KSTREAM-SOURCE-0000000000": {"dropped: undecodable value": 1, "records_in": 6},
        "topic out": {"records_out": 5},
    }


def refuse(value):
    if value == 3:
        message = "no 3"
        raise ValueError(message)
    return value


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda stream: stream.map_values(refuse, name="refusing").to("out"),
            r"refusing failed on record in-\d@2 \(key 'c', timestamp 7\), task 0_0: ValueError: no 3",
        ),
        (
            lambda stream: stream.flat_map_values(lambda value: value, name="flat").to("out"),
            r"flat failed on record in-\d@0 \(key 'a', .* must return an iterable; it returned 1",
        ),
        (
            lambda stream: stream.map_values(lambda value: 1j if value == 2 else value).to("out", name="sink"),
            r"sink failed on record in-\d@1 \(key 'b', timestamp 6\).*cannot serialize 1j",
        ),
        (
            lambda stream: stream.map_values(lambda value: "\ud800" if value == 2 else "").to(
                "out", value_serde=serdes.String(), name="sink"
            ),
            r"sink failed on record in-\d@1 \(key 'b', timestamp 6\).*cannot serialize '\\ud800'",
        ),
        (
            lambda stream: stream.select_key(lambda key, _: 5 if key == "c" else key).to("out", name="sink"),
            r"sink failed on record in-\d@2 \(key 'c', timestamp 7\).*cannot serialize 5",
        ),
        (
            lambda stream: stream.map_values(refuse).group_by_key().count().to_stream().to("out"),
            r"KSTREAM-MAPVALUES-\d+ failed on record in-\d@2 \(key 'c'",
        ),
        (
            lambda stream: stream.group_by_key().aggregate(
                lambda: 0, lambda _, value, total: total + refuse(value), name="sum"
            ),
            r"sum failed on record in-\d@2 \(key 'c', timestamp 7\), task 0_0: ValueError: no 3",
        ),
        (
            lambda stream: stream.group_by_key().reduce(max, name="max").to_stream().map_values(refuse).to("out"),
            r"KSTREAM-MAPVALUES-\d+ failed on record in-\d@2 \(key 'c', timestamp 7\), task 0_0: ValueError: no 3",
        ),
        (
            lambda stream: stream.group_by_key().aggregate(int, lambda *_: 1j, name="sum"),
            r"sum failed on record in-\d@0 \(key 'a', timestamp 5\).*cannot serialize 1j",
        ),
        (
            lambda stream: (
                stream.group_by_key().count().to_stream().map_values(lambda _: refuse(3), name="behind").to("out")
            ),
            r"behind failed on record in-\d@0 \(key 'a', timestamp 5\), task 0_0: ValueError: no 3",
        ),
    ],
)
def test_failure_of_a_function_in_a_batch_raises_the_same_error_as_by_records(build, said):
    chunks = [([("a", 1, 5, ()), ("b", 2, 6, ()), ("c", 3, 7, ())],)]
    messages = set()
    for columnar in (False, True):
        builder = hr.StreamsBuilder()
        build(builder.stream("in"))
        topology = builder.build()
        with pytest.raises(hr.ProcessingError, match=said) as failed:
            run(topology, chunks, serdes.String(), columnar=columnar)
        messages.add(str(failed.value))
    assert len(messages) == 1


@pytest.mark.parametrize("handler", ["processing_exception_handler", "production_exception_handler"])
def test_functions_are_called_record_by_record_if_a_handler_may_drop_records(handler):
    builder = hr.StreamsBuilder()
    builder.stream("in").map_values(refuse).to("out")
    chunks = [([("a", 1, 5, ()), ("b", 2, 6, ())],)]
    outputs, _, _ = run(
        builder.build(), chunks, serdes.String(), columnar=True, has_form=False, **{handler: "continue"}
    )
    assert [row["value"] for rows in outputs.values() for row in rows] == [b"1", b"2"]


def test_operator_with_two_parents_gets_records_one_by_one():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in")
    stream.map_values(lambda value: -value).merge(stream.map_values(lambda value: 10 * value)).to("out")
    chunks = [([("a", 1, 5, ()), ("a", 2, 6, ())],)]
    outputs, _, _ = run(builder.build(), chunks, serdes.String(), columnar=True, has_form=False)
    assert [row["value"] for rows in outputs.values() for row in rows] == [b"-1", b"10", b"-2", b"20"]


def appended(value):
    value.append(9)
    return value


def joined_with_itself(stream, _):
    table = stream.to_table(store="rows")
    stream.join(table, lambda value, _: appended(value)).to("joined")
    stream.map_values(lambda value: value).to("mapped")


SIBLINGS = {
    "functions": (
        lambda stream, _: (stream.peek(lambda _, v: v.append(9)).to("a"), stream.map_values(list).to("b")),
        True,
    ),
    "behind a branch": (
        lambda stream, steps: (steps.branch(stream).map_values(appended).to("a"), steps.peek(stream).to("b")),
        True,
    ),
    "a stored table": (lambda stream, _: (stream.map_values(appended).to("a"), stream.to_table(store="rows")), False),
    "a join": (joined_with_itself, False),
}


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_siblings_see_the_value_that_an_earlier_function_has_changed(siblings):
    build, has_form = SIBLINGS[siblings]
    chunks = [([("a", [1], 5, ()), ("a", [2], 6, ()), ("b", [3], 7, ())],)]
    by_records, in_batches = both(lambda *given: build(*given), chunks, serdes.String(), has_form=has_form)
    assert in_batches == by_records


class Colour(StrEnum):
    RED = "red"


def test_count_with_another_key_serde_forwards_the_original_keys():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in", key_serde=serdes.Json(Colour)).map_values(lambda value: value)
    counted = stream.group_by_key(key_serde=serdes.String()).count(store="counts").to_stream()
    counted.map_values_with_key(lambda key, count: f"{key.name}{count}").to("out", value_serde=serdes.String())
    chunks = [([(Colour.RED, 1, 5, ()), (Colour.RED, 1, 6, ())],)]
    outputs, _, _ = run(builder.build(), chunks, serdes.Json(Colour), columnar=True, has_form=False)
    assert [row["value"] for rows in outputs.values() for row in rows] == [b"RED1", b"RED2"]


def test_many_results_of_one_record_are_forwarded_in_pieces(monkeypatch):
    sizes = []
    send_batch = FrameCollector.send_batch

    def noting(self, topic, batch):
        sizes.append(len(batch.keys))
        send_batch(self, topic, batch)

    monkeypatch.setattr(FrameCollector, "send_batch", noting)
    few(monkeypatch)
    builder = hr.StreamsBuilder()
    builder.stream("in").flat_map_values(range).to("out")
    outputs, _, _ = run(builder.build(), [([("a", 20, 5, ())],)], serdes.String(), columnar=True)
    assert [row["value"] for rows in outputs.values() for row in rows] == [b"%d" % number for number in range(20)]
    assert sizes == [6, 6, 6, 2]


def test_topology_with_exponentially_many_paths_gets_no_batch_form_at_once():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in")
    for _ in range(40):
        stream = stream.map_values(lambda value: value + 1).merge(stream.filter(lambda _, value: value < 0))
    stream.to("out")
    outputs, _, _ = run(builder.build(), [([("a", 2, 5, ())],)], serdes.String(), columnar=True, has_form=False)
    assert [row["value"] for rows in outputs.values() for row in rows] == [b"42"]
