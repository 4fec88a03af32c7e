"""The serde of results whose type a topology reveals: by an initializer, an annotation, or a method of `str`."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

import headrace as hr
from headrace import serdes
from headrace._runtime.defaults import Defaults
from headrace.serdes.inferred import Inferred, serde_of_entries, serde_of_results


@dataclass
class Sale:
    cents: int = 0


class Custom:
    pass


def sale(value) -> Sale:
    return Sale(value)


def maybe(value) -> Sale | None:
    return None


def text(value) -> str:
    return str(value)


def number(value) -> int:
    return 1


def sales(value) -> list[Sale]:
    return []


def texts(value) -> Iterator[str]:
    yield ""


def pair(value) -> tuple[str, int]:
    return "", 1


def custom(value) -> Custom:
    return Custom()


def anything(value) -> Any:
    return value


TYPED = serdes.Json(Sale)


@pytest.mark.parametrize(
    ("function", "serde", "result"),
    [
        *((Sale, None, Inferred(Sale)), (sale, None, Inferred(Sale)), (maybe, None, Inferred(Sale))),
        *((set, None, Inferred(set)), (set[str], None, Inferred(set[str])), (tuple, None, Inferred(tuple))),
        *((sales, None, Inferred(list[Sale])), (pair, None, Inferred(tuple[str, int]))),
        (functools.partial(Sale, 3), None, Inferred(Sale)),
        *((int, None, None), (list, None, None), (dict, None, None), (str, None, None), (lambda: 1, None, None)),
        *((custom, None, None), (Custom, None, None), (anything, TYPED, None), (len, None, None)),
        *((sale, TYPED, TYPED), (text, TYPED, None), (text, serdes.String(), serdes.String())),
        *((str.upper, serdes.String(), serdes.String()), (str.strip, None, None), (len, serdes.String(), None)),
        *((number, serdes.Long(), serdes.Long()), (number, serdes.Int(), None), (text, serdes.Long(), None)),
        (lambda value: value, serdes.String(), None),
    ],
)
def test_the_serde_of_results(function, serde, result):
    assert serde_of_results(function, serde) == result


@pytest.mark.parametrize(
    ("function", "serde", "result"),
    [
        *((str.split, serdes.String(), serdes.String()), (str.split, None, None), (str.split, TYPED, None)),
        *((texts, serdes.String(), serdes.String()), (sales, None, Inferred(Sale)), (sales, TYPED, TYPED)),
        *((pair, serdes.String(), None), (lambda value: [], serdes.String(), None), (text, serdes.String(), None)),
    ],
)
def test_the_serde_of_the_entries_of_results(function, serde, result):
    assert serde_of_entries(function, serde) == result


def test_an_inferred_type_only_replaces_json_without_a_type():
    def resolved(default):
        defaults = Defaults.of(hr.StreamsConfig(application_id="a", default_value_serde=default))
        return [defaults.resolve_value(serde) for serde in (Inferred(Sale), serdes.List(Inferred(Sale)))]

    assert resolved(None) == [TYPED, serdes.List(TYPED)]
    assert resolved(serdes.Json()) == [TYPED, serdes.List(TYPED)]
    assert resolved(serdes.Bytes()) == [serdes.Bytes(), serdes.List(serdes.Bytes())]
    assert resolved(serdes.Json(int)) == [serdes.Json(int), serdes.List(serdes.Json(int))]


def paid(order: Sale, method: str | None) -> Sale:
    return order


def with_key(key: str, order: Sale, method: str | None) -> Sale:
    return order


@pytest.mark.parametrize("joiner", [paid, with_key])
@pytest.mark.parametrize("operation", ["join", "left_join"])
def test_a_joiner_reveals_the_type_of_its_results(joiner, operation):
    builder = hr.StreamsBuilder()
    orders, methods = builder.stream("orders", value_serde=TYPED), builder.stream("methods")
    rows, table, pages = (
        builder.table("rows", value_serde=TYPED),
        builder.table("table"),
        builder.global_table("global"),
    )
    within = hr.JoinWindows.of(timedelta(seconds=1))
    by_key = {"foreign_key": lambda key, value: key}
    joined = [
        getattr(orders, operation)(methods, joiner, within=within),
        getattr(orders, operation)(table, joiner),
        getattr(orders, operation)(table, joiner, **by_key),
        getattr(orders, operation)(pages, joiner),
        getattr(rows, operation)(table, joiner),
        getattr(rows, operation)(table, joiner, **by_key),
    ]
    assert [stream._value_serde for stream in joined] == [TYPED] * 6
    assert rows.join(table, joiner, value_serde=serdes.Bytes())._value_serde == serdes.Bytes()
    assert orders.join(table, lambda order, method: order)._value_serde is None
    untyped = builder.stream("untyped").join(table, joiner)
    assert isinstance(untyped._value_serde, Inferred)
