"""Tables and their aggregations."""

from __future__ import annotations

from random import Random

from conformance import inputs
from conformance.inputs import Shape
from conformance.variations.variation import Variation, one_input

_TOMBSTONES = 0.25


def _nillable(rng: Random, index: int) -> str:
    return "nil" if rng.random() < 0.2 else inputs.letters(rng, index)


_ROWS = Shape(null_value=_TOMBSTONES)
_NIL_ROWS = Shape.of(_nillable, null_value=_TOMBSTONES)
_GROUPS = Shape.of(inputs.grouped, null_value=0.2)
_ANIMALS = Shape.of(inputs.animals, null_value=0.2)
_OPTIONAL = Shape.of(inputs.grouped_or_nothing, null_value=0.15)
_FEW = Shape.of(inputs.few_letters, null_value=0.2)
_OLD = {"upgrade.from": "3.4"}
_NEWER = {"upgrade.from": "3.5"}

_STORED = ({"stored": False}, {"stored": True})
_BOTH = (*_STORED, {"result_stored": True}, {"stored": True, "result_stored": True})
_HISTORY = ({"history": 20}, {"history": 1000})
_RESULT = ({"result_history": 15}, {"result_history": 1000})
_VERSIONED_RESULT = (
    *_RESULT,
    {"versioned": True, "history": 40, "result_history": 15},
    {"versioned": True, "history": 1000, "result_history": 1000},
)

VARIATIONS: dict[str, list[Variation]] = {
    **dict.fromkeys(("table", "to-table"), one_input(_ROWS, *_STORED, cached=True)),
    "table-filter": one_input(_ROWS, *_BOTH, cached=True),
    "table-filter-not": one_input(_ROWS, *_STORED, cached=True),
    "table-map-values": one_input(_NIL_ROWS, *_BOTH, cached=True),
    "table-map-values-with-key": one_input(_ROWS),
    "table-chain": one_input(_NIL_ROWS, *_STORED, cached=True),
    "select-key-to-table": one_input(_FEW),
    "table-to-stream-with-key": one_input(_ROWS, *_STORED),
    "table-to-stream-with-key-and-count": one_input(_FEW),
    **dict.fromkeys(
        ("table-transform-values", "table-transform-values-with-store", "table-transform-values-and-filter"),
        one_input(_NIL_ROWS, *_BOTH),
    ),
    "table-transform-values-of-deleted-rows": one_input(_ROWS, *_STORED),
    **dict.fromkeys(
        ("table-transform-values-and-aggregate", "table-transform-values-with-store-and-aggregate"),
        one_input(_GROUPS, {"result_stored": False}, {"result_stored": True}),
    ),
    "versioned-table-transform-values": one_input(_NIL_ROWS, *_HISTORY),
    "versioned-table-transform-values-and-aggregate": one_input(_GROUPS, *_HISTORY),
    **dict.fromkeys(
        ("table-filter-versioned", "table-map-values-versioned", "table-transform-values-versioned"),
        one_input(_ROWS, *_VERSIONED_RESULT),
    ),
    "table-filter-versioned-and-aggregate": one_input(_GROUPS.but(null_value=0), *_VERSIONED_RESULT),
    **dict.fromkeys(
        ("versioned-table-filter-stored", "versioned-table-map-values-stored"), one_input(_ROWS, *_HISTORY)
    ),
    "table-aggregate-versioned": one_input(_GROUPS, *_RESULT),
    "filtered-count": one_input(Shape(), cached=True),
    **dict.fromkeys(
        ("versioned-table", "versioned-table-filter", "versioned-table-map-values"), one_input(_ROWS, *_HISTORY)
    ),
    **dict.fromkeys(("versioned-table-count-by-group", "versioned-table-aggregate"), one_input(_GROUPS, *_HISTORY)),
    **dict.fromkeys(
        ("table-count-by-group", "table-reduce", "table-aggregate"),
        one_input(_GROUPS, count=6, cached=True)
        + one_input(_GROUPS, config=_OLD)
        + one_input(_GROUPS, config=_NEWER, count=2),
    ),
    "table-set": [*one_input(_ANIMALS, count=6, cached=True), *one_input(_ANIMALS, config=_OLD)],
    "table-count-by-key": one_input(_ROWS, cached=True),
    "table-count-by-value": one_input(_FEW, cached=True),
    "table-aggregate-or-nothing": one_input(_OPTIONAL, count=6),
    "table-filter-and-aggregate": one_input(_GROUPS, cached=True),
    "count-of-counts": one_input(Shape(), cached=True),
}
