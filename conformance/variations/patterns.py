"""Sources that read all topics whose names match a pattern.

All topics of a pattern are one partition to Kafka's test driver, so they have no order of their own there: no scenario
has all records at the start.
"""

from __future__ import annotations

from conformance import inputs
from conformance.inputs import Lane, Shape
from conformance.variations.variation import Variation, several_inputs

_TWO = Shape((Lane("in"), Lane("other", values=inputs.capitals)))
_KEYLESS = _TWO.but(null_key=0.2, null_value=0.15)
_FEW = Shape((Lane("in", values=inputs.few_letters), Lane("other", values=inputs.few_letters)))
_ORDERS = Shape((Lane("in", values=inputs.orders), Lane("other", values=inputs.orders)))
_NEAR = _TWO.but(unit_ms=6, reach_ms=50, length=24)
_STREAM_AND_TABLE = Shape((Lane("stream"), Lane("table", values=inputs.capitals)), unit_ms=6, null_value=0.15)
_STATELESS = ("pattern", "pattern-and-topic", "pattern-twice", "two-patterns")

VARIATIONS: dict[str, list[Variation]] = {
    **dict.fromkeys(_STATELESS, several_inputs(_KEYLESS)),
    **dict.fromkeys(("pattern-count", "pattern-to-table"), several_inputs(_TWO)),
    "pattern-reduce-by-head": several_inputs(_FEW),
    "pattern-window-count": several_inputs(_NEAR, {"size": 20, "grace": 5}, {"size": 20, "advance": 5}),
    "pattern-join-table": several_inputs(_STREAM_AND_TABLE),
    "pattern-of-processors": several_inputs(_ORDERS),
}
