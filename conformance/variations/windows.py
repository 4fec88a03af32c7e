"""Windows, window-close emission, suppression."""

from __future__ import annotations

from random import Random

from conformance import inputs
from conformance.inputs import Lane, Shape
from conformance.variations.variation import Variation, one_input, several_inputs

_NEAR = Shape(unit_ms=6, reach_ms=40, length=34)
# No jumps ahead: without a cache Kafka loses the results of windows that a jump closes (quirk 1).
_GENTLE = Shape(unit_ms=6, reach_ms=20, length=44, jump=0)
_DELETABLE = Shape.of(inputs.deletable, unit_ms=6, reach_ms=40, length=36)
_FEW = Shape.of(inputs.few_letters, unit_ms=6, reach_ms=40)
_TWO = Shape((Lane("in"), Lane("other", values=inputs.capitals)), unit_ms=6, reach_ms=40)
_ROWS = Shape(unit_ms=6, reach_ms=40, null_value=0.2)
_GROUPS = Shape.of(inputs.grouped, unit_ms=6, reach_ms=40, null_value=0.2)

_TUMBLING = {"size": 10, "grace": 0}
_TUMBLING_GRACE = {"size": 10, "grace": 11}
_HOPPING = {"size": 10, "advance": 4, "grace": 3}
_HOPPING_GRACE = {"size": 12, "advance": 6, "grace": 7}
_TIME = (_TUMBLING, _TUMBLING_GRACE, _HOPPING)
_SLIDING = ({"difference": 10, "grace": 0}, {"difference": 10, "grace": 8})
_OWN = ({"size": 10, "offset": 3}, {"size": 10, "offset": 3, "grace": 11})
_TURNS = ({"size": 10, "rest": 4, "offset": 3}, {"size": 9, "rest": 2, "offset": 14, "grace": 7})
_SESSION = ({"gap": 5, "grace": 0}, {"gap": 5, "grace": 8})


def _values_as_times(rng: Random, index: int) -> str:  # noqa: ARG001
    return str(rng.randrange(0, 60))


VARIATIONS: dict[str, list[Variation]] = {
    "time-window-count": one_input(_NEAR, *_TIME, _HOPPING_GRACE, cached=True),
    **dict.fromkeys(("time-window-reduce", "time-window-aggregate"), one_input(_NEAR, *_TIME, cached=True, count=3)),
    "time-window-aggregate-delete": one_input(_DELETABLE, _TUMBLING_GRACE, _HOPPING, cached=True, count=3),
    "time-window-count-by-head": one_input(_FEW, _TUMBLING, _HOPPING, count=3),
    "time-window-count-totals": one_input(_NEAR, _TUMBLING_GRACE, _HOPPING, count=3),
    "time-window-final-count": [
        *one_input(_GENTLE, _TUMBLING_GRACE, _HOPPING_GRACE, cached=True),
        *one_input(_NEAR, _TUMBLING, _HOPPING, cached=True),
    ],
    "time-window-final-aggregate": [
        *one_input(_GENTLE, _TUMBLING_GRACE, cached=True),
        *one_input(_NEAR, _HOPPING, cached=True),
    ],
    "sliding-window-count": one_input(_NEAR, *_SLIDING, cached=True),
    "sliding-window-reduce": one_input(_NEAR, *_SLIDING, cached=True, count=3),
    "sliding-window-aggregate": one_input(_NEAR.but(length=24), *_SLIDING, cached=True),
    "sliding-window-final-count": [
        *one_input(_GENTLE, _SLIDING[1], cached=True),
        *one_input(_NEAR, _SLIDING[0], cached=True),
    ],
    "sliding-window-final-aggregate": one_input(_GENTLE.but(length=36), _SLIDING[1], cached=True),
    "session-window-count": one_input(_NEAR, *_SESSION, cached=True),
    "session-window-reduce": one_input(_NEAR, *_SESSION, cached=True, count=3),
    "session-window-aggregate": one_input(_NEAR.but(length=24), *_SESSION, cached=True),
    "session-window-final-count": [
        *one_input(_GENTLE, _SESSION[1], cached=True),
        *one_input(_NEAR, _SESSION[0], cached=True),
    ],
    "session-window-final-aggregate": one_input(_GENTLE.but(length=36), _SESSION[1], cached=True),
    **dict.fromkeys(
        ("unlimited-window-count", "unlimited-window-aggregate"), one_input(_NEAR, {"start": 0}, {"start": 25}, count=3)
    ),
    "own-window-count": one_input(_NEAR, *_OWN, *_TURNS, cached=True),
    "own-window-reduce": one_input(_NEAR, _OWN[1], *_TURNS, cached=True, count=3),
    "own-window-aggregate": one_input(_DELETABLE, _OWN[1], *_TURNS, cached=True, count=3),
    # Only windows of one length: suppress in Kafka Streams treats all windows as if they were as long as the longest.
    "suppress-own-window": one_input(_NEAR, *_OWN, cached=True),
    "cogroup-own-window": several_inputs(_TWO, *_TURNS),
    "suppress-with-no-bound": one_input(_NEAR, _TUMBLING_GRACE),
    "time-window-count-to-stream-with-key": one_input(_NEAR, _TUMBLING_GRACE, _HOPPING),
    "suppress-time-window": [
        *one_input(_NEAR, *_TIME, cached=True),
        *one_input(_NEAR, {**_TUMBLING_GRACE, "max_records": 3}, count=3),
    ],
    "suppress-time-window-aggregate": one_input(_DELETABLE, _TUMBLING_GRACE, _HOPPING, cached=True),
    "suppress-sliding-window": one_input(_NEAR, *_SLIDING, cached=True),
    "suppress-session-window": one_input(_NEAR, *_SESSION, cached=True),
    "suppress-time-limit": one_input(
        _ROWS,
        {"limit": 10},
        {"limit": 0},
        {"limit": 1000, "max_records": 2},
        {"limit": 10, "max_records": 1},
        {"limit": 1000, "max_bytes": 100},
        {"limit": 1000, "max_records": 2, "when_full": "shut down"},
    ),
    "suppress-time-limit-of-count": one_input(
        _NEAR, {"limit": 10}, {"limit": 1000, "max_records": 1}, cached=True, count=3
    ),
    "suppress-and-aggregate": one_input(
        _GROUPS, {"limit": 10}, {"limit": 1000, "max_records": 1}, cached=True, count=3
    ),
    "cogroup-time-window": several_inputs(_TWO, _TUMBLING, _HOPPING),
    "cogroup-sliding-window": several_inputs(_TWO.but(length=24), *_SLIDING),
    "cogroup-session-window": several_inputs(_TWO.but(length=24), *_SESSION),
    "suppress-cogroup-time-window": several_inputs(_TWO, _TUMBLING_GRACE, _HOPPING),
    "process-timestamps-and-count": one_input(
        Shape.of(_values_as_times, null_value=0), _TUMBLING, _TUMBLING_GRACE, count=3
    ),
}
