"""The stores of processors."""

from __future__ import annotations

from random import Random

from conformance import inputs
from conformance.inputs import Lane, Shape
from conformance.order import Step
from conformance.variations.variation import Variation, one_input

_KEYS = ("a", "b", "bb", "c", "d")
_MANY = Shape((Lane(keys=_KEYS),), null_key=0, null_value=0.2, length=24)
_LARGE = {"size": 10, "retention": 100_000}
_SMALL = {"size": 10, "retention": 60}


def _with_headers(rng: Random) -> list[Step]:
    """Records of which most have one or two headers, some of these without a value."""
    steps = Shape(null_key=0, null_value=0.1, length=20).records(rng)
    for index, step in enumerate(steps):
        listed = [["trace", rng.choice((f"t{index}", None))] for _ in range(rng.randrange(3))]
        if listed:
            step.append(listed)
    return steps


VARIATIONS: dict[str, list[Variation]] = {
    "store-reverse": one_input(_MANY),
    "store-put-all": one_input(_MANY.but(length=16)),
    "store-lru": one_input(
        Shape((Lane(keys=_KEYS, values=inputs.uses),), null_key=0, length=30), {"entries": 1}, {"entries": 3}
    ),
    "store-windows-backward": one_input(_MANY.but(null_value=0.1), _LARGE, _SMALL),
    "store-duplicates-backward": one_input(_MANY.but(null_value=0.1), _LARGE),
    "store-timestamped-windows": one_input(_MANY.but(null_value=0.1), _LARGE, _SMALL),
    "store-sessions-backward": one_input(_MANY.but(null_value=0.1), {"retention": 100_000}, {"retention": 60}),
    "store-versions": one_input(Shape(null_key=0, null_value=0.2, length=24), {"history": 1_000}),
    "store-headers": [Variation(_with_headers)],
}
