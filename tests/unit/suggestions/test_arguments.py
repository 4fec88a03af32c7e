"""Arguments that a method does not have, or that are not what they should be: refused when the topology is built."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from datetime import timedelta

import pytest

import headrace as hr
from headrace import TopologyError, serdes
from headrace.dsl.handle import NodeOutput
from headrace.errors import ArgumentError
from headrace.testing import TopologyTestDriver

SECOND = timedelta(seconds=1)


@dataclass
class Sale:
    cents: int


def stream(**options):
    return hr.StreamsBuilder().stream("in", **options)


def grouped():
    return stream().group_by_key()


def joined(windows):
    builder = hr.StreamsBuilder()
    return builder.stream("a").join(builder.stream("b"), lambda left, right: left, windows)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: stream(valueSerde=serdes.Long()), "no argument 'valueSerde'. Did you mean 'value_serde'? It takes: "),
        (lambda: stream(consumed=1), "StreamsBuilder.stream() has no argument 'consumed'. Write key_serde=..."),
        (lambda: grouped().count(storeName="x"), "KGroupedStream.count() has no argument 'storeName'. Write store=..."),
        (lambda: grouped().count(materialized="x"), "Write store=... and value_serde=..."),
        (
            lambda: grouped().count("x"),
            "count() takes no argument by position; 1 were given. Give these by name",
        ),
        (lambda: stream().repartition(numberOfPartitions=3), "Write partitions=..."),
        (
            lambda: joined(hr.JoinWindows.of(SECOND)),
            "by position; 3 were given. Write within=....",
        ),
        (
            lambda: hr.TimeWindows.of(SECOND, SECOND),
            "TimeWindows.of() takes size by position; 2 were given.",
        ),
        (lambda: hr.TimeWindows.of(SECOND, advanceBy=SECOND), "has no argument 'advanceBy'. Write advance=..."),
        (
            lambda: hr.Stores.window("w", retentionPeriod=SECOND),
            "Stores.window() has no argument 'retentionPeriod'.",
        ),
        (
            lambda: hr.TimeWindows.of(),
            "missing 1 required positional argument: 'size'. It takes: size",
        ),
        (lambda: hr.Streams(hr.Topology(), props={}), "Streams() has no argument 'props'. Write config=StreamsConfig"),
        (
            lambda: stream().to("out", valueSerd=1),
            "KStream.to() has no argument 'valueSerd'. Did you mean",
        ),
    ],
)
def test_an_argument_that_a_method_does_not_have_is_explained(call, said):
    with pytest.raises(ArgumentError) as refused:
        call()
    assert said in str(refused.value)
    assert isinstance(refused.value, TypeError)


def test_a_type_error_of_users_code_stays_as_it_is():
    def build():
        raise TypeError("mine")

    class Failing(hr.KStream):
        def filter(self, predicate, *, name=None):
            return build()

    with pytest.raises(TypeError, match=r"^mine$"):
        Failing(NodeOutput(None, "n", None, None), repartition_required=False).filter(print)


@pytest.mark.parametrize(
    ("serde", "said"),
    [
        (serdes.Long, "value_serde is the class Long, not a serde: write value_serde=serdes.Long()."),
        ("json", "value_serde is 'json': write value_serde=serdes.Json()."),
        (str, "value_serde is the type str: write value_serde=serdes.String()."),
        (Sale, "value_serde is the type Sale: write value_serde=serdes.Json(Sale)."),
        (set[str], "value_serde is the type set[str]: write value_serde=serdes.Json(set[str])."),
        (
            3,
            "value_serde is 3 of type int: a serde is an object such as serdes.String() or serdes.Json();",
        ),
    ],
)
def test_what_is_not_a_serde_is_refused_where_it_is_given(serde, said):
    calls = {
        "StreamsBuilder.stream(): ": lambda: stream(value_serde=serde),
        "KStream.to(): ": lambda: stream().to("out", value_serde=serde),
        "KGroupedStream.aggregate(): ": lambda: grouped().aggregate(int, lambda k, v, a: a, value_serde=serde),
        "Stores.key_value(): ": lambda: hr.Stores.key_value("s", value_serde=serde),
        "Topology.add_source(): ": lambda: hr.Topology().add_source("s", "in", value_serde=serde),
    }
    for subject, call in calls.items():
        with pytest.raises(TopologyError) as refused:
            call()
        assert str(refused.value).startswith(f"{subject}{said}")


def test_serdes_around_what_is_not_a_serde_are_refused():
    with pytest.raises(hr.SerdeError, match=r"List\(\): the inner serde is the class Long, not a serde: write "):
        serdes.List(serdes.Long)
    with pytest.raises(hr.SerdeError, match=r"write serdes\.String\(\)"):
        serdes.WindowedKey("string", SECOND)


@pytest.mark.parametrize("extractor", ["wallclock", 5, lambda record: 1, lambda: 1])
def test_an_extractor_that_cannot_be_called_with_record_and_time_is_refused(extractor):
    for call in (
        lambda: stream(timestamp_extractor=extractor),
        lambda: hr.StreamsBuilder().table("in", timestamp_extractor=extractor),
        lambda: hr.Topology().add_source("s", "in", timestamp_extractor=extractor),
    ):
        with pytest.raises(TopologyError, match=r"timestamp_extractor\(record, partition_time_ms\)"):
            call()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: stream().filter(lambda value: True), "filter() calls predicate(key, value) with 2 arguments; got"),
        (lambda: stream().map_values(lambda key, value: 1), "For such a function, use map_values_with_key(mapper)."),
        (lambda: stream().map_values_with_key(lambda value: 1), "For such a function, use map_values(mapper)."),
        (lambda: stream().map(lambda value: 1), "map() calls mapper(key, value) with 2 arguments"),
        (lambda: stream().peek(lambda: 1), "peek() calls action(key, value) with 2 arguments"),
        (lambda: grouped().reduce(lambda value: 1), "reduce() calls reducer(aggregate, value) with 2 arguments"),
        (lambda: grouped().aggregate(lambda key: 0, max), "aggregate() calls initializer() with no arguments"),
        (
            lambda: grouped().aggregate(int, lambda value, total: 1),
            "(key, value, aggregate) with 3 arguments",
        ),
        (lambda: stream().split().branch(lambda value: 1), "branch() calls predicate(key, value) with 2 arguments"),
        (lambda: stream().group_by(lambda value: 1), "group_by() calls selector(key, value) with 2 arguments"),
    ],
)
def test_a_function_of_another_number_of_arguments_is_refused(call, said):
    with pytest.raises(TopologyError) as refused:
        call()
    assert said in str(refused.value)


def test_functions_that_take_any_number_or_hide_their_arguments_are_accepted():
    class Callable:
        def __call__(self, key, value):
            return True

    for predicate in (print, lambda *arguments: True, functools.partial(operator.contains), Callable(), max):
        stream().filter(predicate)
    for mapper in (str.upper, len, int, str, dict, functools.partial(max, 3), lambda value, extra=1: value):
        stream().map_values(mapper)
    for initializer in (int, list, dict, set, lambda start=0: start):
        grouped().aggregate(initializer, lambda key, value, total: total)


def test_a_driver_checks_its_serdes_too():
    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(TopologyError, match=r"serdes\.Long\(\)"):
        driver.input_topic("in", value_serde=serdes.Long)
