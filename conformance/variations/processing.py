"""The processor API."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from conformance import inputs
from conformance.inputs import Lane, Shape
from conformance.order import Step
from conformance.variations.variation import Variation, one_input, several_inputs, table_before_stream

_TWO = Shape((Lane("in"), Lane("other", values=inputs.capitals)))
_LOOKING_UP = Shape((Lane("stream", values=inputs.few_letters), Lane("table", ("p", "q", "r"), inputs.capitals)))
_TICKING = Shape(unit_ms=6, reach_ms=40, advance=0.4, length=36)


def _from_start(start_ms: int) -> Callable[[Random], list[Step]]:
    """Records of which the first lies on the grid: then Kafka's anchor and our time shift give the same results."""

    def records(rng: Random) -> list[Step]:
        return [["in", "k", "first", start_ms], *Shape(unit_ms=6, reach_ms=40, length=24).records(rng)]

    return records


VARIATIONS: dict[str, list[Variation]] = {
    "process-forward": one_input(Shape.of(inputs.orders), count=5),
    "process-store": one_input(Shape()),
    "process-shared-store": several_inputs(_TWO.but(null_key=0)),
    "process-range": one_input(Shape((Lane(keys=("a", "b", "bb", "c", "d")),), null_key=0, null_value=0.2, length=20)),
    "process-and-count": one_input(Shape.of(inputs.few_letters)),
    "process-metadata": several_inputs(_TWO),
    "process-headers": one_input(Shape(length=10), count=2),
    "process-declared-stores": several_inputs(_TWO.but(null_key=0)),
    "process-edit-headers": one_input(Shape(length=10), count=2),
    "global-store": table_before_stream(_LOOKING_UP.but(null_value=0.15), count=6),
    "read-only-store": several_inputs(_LOOKING_UP.but(null_key=0.1, null_value=0.15), count=6),
    "process-values": one_input(Shape()),
    "process-values-and-count": one_input(Shape()),
    "punctuate-stream-time": one_input(Shape(unit_ms=6, reach_ms=40), {"interval": 10}, {"interval": 25}),
    "punctuate-wall-clock": one_input(_TICKING, {"interval": 10}, {"interval": 25}),
    "punctuate-anchored-stream-time": [
        Variation(_from_start(start), {"interval": 10, "start": start}) for start in (0, 3)
    ],
    "punctuate-anchored-wall-clock": one_input(_TICKING, {"interval": 10, "start": 3}, {"interval": 25, "start": 24}),
    "punctuate-cancel": one_input(_TICKING, {"interval": 10, "times": 3}),
    "punctuate-flush": one_input(_TICKING, {"interval": 10}),
}
