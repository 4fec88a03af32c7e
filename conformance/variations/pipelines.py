"""Whole applications, and tables of windows as inputs of further operators."""

from __future__ import annotations

from conformance import inputs
from conformance.inputs import Lane, Shape
from conformance.variations.variation import Variation, one_input, several_inputs

_NEAR = Shape(unit_ms=6, reach_ms=40, length=34)
_CLICKS = Shape(
    (Lane("clicks"), Lane("clicks"), Lane("users", values=inputs.few_letters)), unit_ms=6, reach_ms=30, length=40
)
_VIEWS = Shape((Lane("clicks", values=inputs.few_letters), Lane("views", values=inputs.capitals)), unit_ms=6)
_TABLES = Shape((Lane("left"), Lane("right", values=inputs.capitals)), unit_ms=6, reach_ms=40, null_value=0.2)
_TUMBLING = {"size": 10, "grace": 4}
_HOPPING = {"size": 10, "advance": 4, "grace": 11}

VARIATIONS: dict[str, list[Variation]] = {
    "clicks-per-country": several_inputs(_CLICKS, _TUMBLING, cached=True, count=6),
    "clicks-and-views": several_inputs(_VIEWS, {"difference": 10, "grace": 5}, count=6),
    "time-window-filtered-count": one_input(_NEAR, _TUMBLING, _HOPPING, cached=True),
    "session-window-filtered-count": one_input(_NEAR, {"gap": 5, "grace": 8}, cached=True),
    "time-window-table-aggregate": one_input(_NEAR, _TUMBLING, _HOPPING, cached=True),
    "suppress-time-window-and-aggregate": one_input(_NEAR, _TUMBLING, _HOPPING, cached=True),
    "suppress-and-join": several_inputs(_TABLES, {"limit": 10}, cached=True, count=6),
}
