"""Joiners that get the key: in every join, by the number of their parameters."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import JoinWindows, KStream, Record, Stores, StreamsBuilder, TopologyError
from tests.support.runtimes import DriverRuntime
from tests.support.steps import each_step

MS = timedelta(milliseconds=1)
WITHIN = JoinWindows.of(5 * MS)


def keyed(key, left, right):
    return f"{key}:{left}/{right}"


def both_keyed(key, other_key, left, right):
    return f"{key}>{other_key}:{left}/{right}"


def of_value(key, value):
    return value[0]


def test_every_join_passes_the_key_to_a_joiner_of_three_parameters(runtime):
    builder = StreamsBuilder()
    stream, table, other = builder.stream("stream"), builder.table("table"), builder.table("other")
    pages = builder.global_table("pages")
    stream.outer_join(stream.filter(lambda key, value: value == "bx"), keyed, within=WITHIN).to("streams")
    stream.left_join(table, keyed).to("rows")
    stream.left_join(table, keyed, foreign_key=of_value).to("foreign")
    stream.left_join(pages, keyed, key_selector=of_value).to("global")
    table.outer_join(other, keyed).to_stream().to("tables")
    table.left_join(other, keyed, foreign_key=of_value).to_stream().to("foreign-tables")
    steps = [
        ("pages", "b", "page", 0),
        ("table", "a", "Row", 1),
        ("other", "R", "Other", 2),
        ("stream", "a", "bx", 3),
        ("stream", "c", "a", 20),
    ]
    outputs, _ = runtime.run(builder.build(), steps)
    assert outputs == {
        "streams": [Record("a", "a:bx/bx", 3)],
        "rows": [Record("a", "a:bx/Row", 3), Record("c", "c:a/None", 20)],
        "foreign": [Record("a", "a:bx/None", 3), Record("c", "c:a/Row", 20)],
        "global": [Record("a", "a:bx/page", 3), Record("c", "c:a/None", 20)],
        "tables": [Record("a", "a:Row/None", 1), Record("R", "R:None/Other", 2)],
        "foreign-tables": [Record("a", "a:Row/None", 1), Record("a", "a:Row/Other", 2)],
    }


def test_joins_by_another_key_pass_both_keys_to_a_joiner_of_four_parameters(runtime):
    builder = StreamsBuilder()
    stream, table, pages = builder.stream("stream"), builder.table("table"), builder.global_table("pages")
    stream.join(table, both_keyed, foreign_key=of_value).to("foreign")
    stream.left_join(pages, both_keyed, key_selector=lambda key, value: None if value == "x" else value).to("global")
    stream.join(pages, both_keyed).to("own-key")
    builder.table("left").left_join(table, both_keyed, foreign_key=of_value).to_stream().to("tables")
    steps = [
        ("pages", "b", "page", 0),
        ("table", "b", "row", 1),
        ("stream", "a", "b", 2),
        ("stream", "b", "x", 3),
        ("left", "l", "b", 4),
        ("left", "l", "c", 5),
        ("left", "l", None, 6),
    ]
    topology_outputs = {
        "foreign": [Record("a", "a>b:b/row", 2)],
        "global": [Record("a", "a>b:b/page", 2), Record("b", "b>None:x/None", 3)],
        "own-key": [Record("b", "b>b:x/page", 3)],
        "tables": [Record("l", "l>b:b/row", 4), Record("l", "l>c:c/None", 5), Record("l", None, 6)],
    }
    outputs, _ = runtime.run(builder.build(), steps)
    assert outputs == topology_outputs


def test_unmatched_records_of_both_streams_are_joined_with_their_own_key():
    builder = StreamsBuilder()
    left, right = builder.stream("left"), builder.stream("right")
    left.outer_join(right, keyed, within=WITHIN).to("out")
    steps = [("left", "a", "l", 1), ("right", "b", "r", 2), ("left", None, "n", 3), ("left", "c", "late", 30)]
    assert each_step(builder.build(), steps) == [[], [], ["None=None:n/None@3"], ["a=a:l/None@1", "b=b:None/r@2"]]


def test_rows_of_a_join_without_a_store_are_computed_with_their_key():
    builder = StreamsBuilder()
    joined = builder.table("left").join(builder.table("right"), keyed)
    builder.stream("in").join(joined, keyed).to("out")
    steps = [("left", "a", "l", 1), ("right", "a", "r", 2), ("in", "a", "s", 3)]
    assert each_step(builder.build(), steps)[-1] == ["a=a:s/a:l/r@3"]


def test_a_joiner_with_key_is_used_for_records_that_wait_for_late_rows():
    builder = StreamsBuilder()
    rates = builder.table("rates", store=Stores.versioned_key_value("rates", history=100 * MS))
    builder.stream("in").join(rates, keyed, grace=5 * MS).to("out")
    steps = [("rates", "a", "r", 1), ("in", "a", "s", 2), ("in", "a", "t", 8)]
    assert each_step(builder.build(), steps)[-1] == ["a=a:s/r@2"]


class Bound:
    def method(self, left, right):
        return f"{left}&{right}"

    def method_with_key(self, key, left, right):
        return f"{key}:{left}&{right}"

    def __call__(self, key, left, right):
        return f"called {key}:{left}&{right}"


@pytest.mark.parametrize(
    ("joiner", "result"),
    [
        (max, "s"),
        (lambda *values: f"{len(values)} values", "2 values"),
        (lambda left, right, separator="-": f"{left}{separator}{right}", "s-r"),
        (lambda key, left, right, separator="-": f"{key}{separator}{left}{right}", "a-sr"),
        (Bound().method, "s&r"),
        (Bound().method_with_key, "a:s&r"),
        (Bound(), "called a:s&r"),
    ],
)
def test_a_joiner_that_accepts_two_arguments_gets_the_values_only(joiner, result):
    builder = StreamsBuilder()
    builder.stream("in").join(builder.table("table"), joiner).to("out")
    outputs, _ = DriverRuntime().run(builder.build(), [("table", "a", "r", 1), ("in", "a", "s", 2)])
    assert outputs == {"out": [Record("a", result, 2)]}


def one(value):
    return value


def named(left, right, *, name):
    return name


@pytest.mark.parametrize(
    ("join", "message"),
    [
        (lambda s, t, g: s.join(t, one), r"join\(\) of a stream with a table was given the joiner .*\(value\)"),
        (lambda s, t, g: s.join(t, one), r"allowed: joiner\(left, right\), joiner\(key, left, right\)\."),
        (lambda s, t, g: s.join(t, named), r"with the parameters \(left, right, \*, name\)"),
        (lambda s, t, g: s.left_join(t, both_keyed), r"left_join\(\) of a stream with a table was given"),
        (lambda s, t, g: s.outer_join(s, both_keyed, within=WITHIN), r"outer_join\(\) of <KStream"),
        (lambda s, t, g: t.join(t, both_keyed), r"join\(\) of two tables was given"),
        (lambda s, t, g: s.join(g, one), r"joiner\(key, other key, left, right\)\."),
        (lambda s, t, g: t.join(t, one, foreign_key=of_value), r"join\(\) of two tables by foreign key was given"),
        (lambda s, t, g: s.join(t, one, foreign_key=of_value), r"of a stream with a table by foreign key was given"),
    ],
)
def test_a_joiner_with_a_wrong_number_of_parameters_is_refused(join, message):
    builder = StreamsBuilder()
    stream, table, pages = builder.stream("in"), builder.table("table"), builder.global_table("pages")
    assert isinstance(stream, KStream)
    with pytest.raises(TopologyError, match=message):
        join(stream, table, pages)
