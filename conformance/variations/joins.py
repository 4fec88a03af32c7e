"""Joins of every kind."""

from __future__ import annotations

from conformance import inputs
from conformance.inputs import Lane, Shape
from conformance.variations.variation import Variation, all_together, one_input, several_inputs, table_before_stream

_SIDES = (Lane("left"), Lane("right", values=inputs.capitals))
_STREAMS = Shape(_SIDES, unit_ms=6, reach_ms=50, length=34)
_STREAMS_BY_HEAD = Shape(
    (Lane("left", values=inputs.few_letters), Lane("right", values=inputs.few_letters)), unit_ms=6, reach_ms=50
)
_THREE_STREAMS = Shape((*_SIDES, Lane("third", values=inputs.words)), unit_ms=6, reach_ms=50)
_STREAM_AND_TABLE = Shape((Lane("stream"), Lane("table", values=inputs.capitals)), unit_ms=6, null_value=0.15)
_BY_HEAD = Shape(
    (Lane("stream", values=inputs.few_letters), Lane("table", ("p", "q", "r"), inputs.capitals)), null_value=0.15
)
_GLOBAL_BY_KEY = Shape((Lane("stream"), Lane("table", values=inputs.capitals)), null_key=0.1, null_value=0.15)
_TABLES = Shape(_SIDES, null_value=0.25)
_THREE_TABLES = Shape((*_SIDES, Lane("third", values=inputs.few_letters)), null_value=0.25)
_GROUPED_TABLES = Shape((Lane("left", values=inputs.grouped), Lane("right", values=inputs.capitals)), null_value=0.25)
_FOREIGN = Shape(
    (Lane("left", ("p1", "p2", "p3"), inputs.grouped), Lane("right", ("A", "B", "C"), inputs.capitals)),
    null_value=0.2,
    length=36,
)
_FILTERED_FOREIGN = Shape(
    (Lane("left", ("p1", "p2"), inputs.grouped), Lane("right", ("A", "B"), inputs.capitals)), null_value=0.2
)
_OWN = Shape(null_value=0.2)
_OWN_FOREIGN = Shape((Lane("in", ("A", "B", "C"), inputs.few_groups),), null_value=0.15)

_KINDS = ({"kind": "inner"}, {"kind": "left"}, {"kind": "outer"})
_WITHIN = (
    {"difference": 10, "grace": 0},
    {"difference": 10, "grace": 15},
    {"difference": 10, "before": 0, "grace": 5},
    {"difference": 8, "before": -2, "grace": 0},
    {"difference": 3, "after": 12, "grace": 2},
)
_STORED = ({"stored": False}, {"stored": True})
_HISTORY = ({"history": 20}, {"history": 1000})
_GRACE = ({"history": 100, "grace": 5}, {"history": 40, "grace": 20})

VARIATIONS: dict[str, list[Variation]] = {
    **dict.fromkeys(
        ("stream-stream-join", "stream-stream-left-join", "stream-stream-outer-join"),
        several_inputs(_STREAMS, *_WITHIN) + all_together(_STREAMS, *_WITHIN[:1]),
    ),
    "stream-self-join": one_input(Shape(unit_ms=6, reach_ms=50, length=24), *_WITHIN[:3], count=3),
    **dict.fromkeys(
        ("stream-stream-join-by-head", "stream-stream-left-join-by-head", "stream-stream-outer-join-by-head"),
        several_inputs(_STREAMS_BY_HEAD, *_WITHIN[:2]),
    ),
    "stream-stream-join-and-count": several_inputs(_STREAMS, _WITHIN[1]),
    "left-join-and-count-after-repartition": several_inputs(_STREAMS, *_WITHIN[:2]),
    "three-streams-join": several_inputs(_THREE_STREAMS, _WITHIN[1]),
    **dict.fromkeys(
        ("stream-table-join", "stream-table-left-join", "stream-filtered-table-left-join"),
        several_inputs(_STREAM_AND_TABLE, count=6, cached=True) + all_together(_STREAM_AND_TABLE),
    ),
    **dict.fromkeys(("stream-table-join-by-head", "stream-table-left-join-by-head"), several_inputs(_BY_HEAD, count=6)),
    "stream-join-own-count": one_input(Shape(), cached=True),
    **dict.fromkeys(
        ("stream-versioned-table-join", "stream-versioned-table-left-join"),
        several_inputs(_STREAM_AND_TABLE, *_HISTORY),
    ),
    "stream-table-join-with-grace": several_inputs(_STREAM_AND_TABLE, *_GRACE),
    "stream-table-left-join-with-grace": several_inputs(_STREAM_AND_TABLE.but(null_key=0), *_GRACE),
    "stream-stream-join-with-key": several_inputs(_STREAMS, *({**kind, **_WITHIN[1]} for kind in _KINDS)),
    "stream-stream-join-with-key-by-head": several_inputs(
        _STREAMS_BY_HEAD, *({**kind, **_WITHIN[0]} for kind in _KINDS), count=2
    ),
    "stream-self-join-with-key": one_input(
        Shape(unit_ms=6, reach_ms=50, length=24), {"kind": "inner", **_WITHIN[1]}, count=3
    ),
    "stream-table-join-with-key": several_inputs(_STREAM_AND_TABLE, *_KINDS[:2]),
    "stream-table-join-with-key-by-head": several_inputs(_BY_HEAD, *_KINDS[:2]),
    "stream-table-join-with-key-and-grace": several_inputs(_STREAM_AND_TABLE, *_GRACE),
    "global-table-join-with-key": [
        variation for kind in _KINDS[:2] for variation in table_before_stream(_BY_HEAD, params=kind)
    ],
    "transformed-tables-join": several_inputs(_TABLES, *_KINDS[::2], {"kind": "inner", "result_stored": True}),
    "stream-transformed-table-join": several_inputs(
        _STREAM_AND_TABLE, {"result_stored": False}, {"result_stored": True}
    ),
    "tables-join-versioned": several_inputs(
        _TABLES,
        *({**kind, "result_history": 15} for kind in _KINDS),
        {"kind": "left", "versioned": True, "history": 100, "result_history": 1000},
    ),
    "foreign-key-join-versioned": several_inputs(_FOREIGN, {"result_history": 15}, {"result_history": 1000}),
    **dict.fromkeys(
        ("stream-join-versioned-count", "stream-join-versioned-filter"),
        several_inputs(_STREAM_AND_TABLE, {"result_history": 15}, {"result_history": 1000}),
    ),
    **dict.fromkeys(("global-table-join", "global-table-left-join"), table_before_stream(_BY_HEAD, count=6)),
    "global-table-join-by-key": table_before_stream(_GLOBAL_BY_KEY),
    **dict.fromkeys(
        ("table-table-join", "table-table-left-join", "table-table-outer-join"),
        several_inputs(_TABLES, *_STORED, cached=True) + all_together(_TABLES, *_STORED[:1]),
    ),
    "three-tables-join": several_inputs(_THREE_TABLES, cached=True),
    "filtered-tables-join": several_inputs(_TABLES, cached=True),
    **dict.fromkeys(
        ("two-filtered-tables-join", "two-filtered-tables-join-and-aggregate"), several_inputs(_TABLES, *_KINDS)
    ),
    "two-filtered-tables-foreign-key-join": several_inputs(_FILTERED_FOREIGN, *_KINDS[:2]),
    "table-join-own-last": one_input(_OWN, count=6),
    "table-join-own-mappings": one_input(_OWN),
    "table-join-own-aggregate": one_input(_OWN, count=6),
    "foreign-key-join-of-rows-that-change-twice": several_inputs(_FOREIGN, *_KINDS[:2]),
    "foreign-key-self-join": one_input(_OWN_FOREIGN, *_KINDS[:2]),
    "foreign-key-join-own-mapping": one_input(_OWN_FOREIGN, *_KINDS[:2]),
    "table-table-join-and-aggregate": several_inputs(_GROUPED_TABLES, cached=True),
    "counts-join": several_inputs(_TABLES, cached=True),
    "versioned-tables-join": several_inputs(_TABLES, *_HISTORY),
    **dict.fromkeys(("foreign-key-join", "foreign-key-left-join"), several_inputs(_FOREIGN, count=10, cached=True)),
    "foreign-key-join-and-aggregate": several_inputs(_FOREIGN, count=4),
    "partitioners-of-a-foreign-key-join": several_inputs(_FOREIGN, count=4),
}
