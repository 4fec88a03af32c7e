"""Which random inputs each topology gets: parameter sets, shapes, and how many of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from conformance import inputs
from conformance.inputs import Shape
from conformance.order import Step, merge_ordered
from conformance.scenario import Scenario


@dataclass(frozen=True)
class Variation:
    """Some random scenarios with the same parameters.

    Of several inputs every second scenario is in merge order, so that it may also be replayed in batches.
    """

    records: Callable[[Random], list[Step]]
    params: dict[str, Any] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    count: int = 5
    cached: bool = False
    merge: bool = False

    def scenarios(self, topology_id: str) -> Iterator[Scenario]:
        """The scenarios; the same ones every time."""
        label = " ".join(f"{name}={value}" for name, value in (self.params | self.config).items())
        for number in range(1, self.count + 1):
            name = f"{label} random {number}".strip()
            steps = self.records(Random(f"{topology_id}/{name}"))  # noqa: S311
            if self.merge and number % 2 == 0:
                name, steps = f"{name} in merge order", merge_ordered(steps)
            yield Scenario(name, steps, self.params, self.config, cached=self.cached)


def _one(shape: Shape | None = None, **options: Any) -> list[Variation]:
    return [Variation((shape or Shape()).records, **options)]


_TWO = Shape(topics=("in", "other"))
_WORDS = Shape(values=inputs.words)
_NUMBERS = Shape(values=inputs.numbers, null_value=0)
_KEYLESS = Shape(null_key=0.2, null_value=0.15)
_REPEATING = Shape(values=inputs.few_letters)

STATELESS: dict[str, list[Variation]] = {
    **dict.fromkeys(
        ("filter", "filter-not", "map", "map-values", "map-values-with-key", "select-key", "peek"), _one(_KEYLESS)
    ),
    "flat-map": _one(_KEYLESS),
    "flat-map-values": _one(_WORDS),
    "merge": _one(_TWO, count=6, merge=True),
    "several-topics": _one(_TWO, count=6, merge=True),
    "split-with-default": _one(_KEYLESS),
    "split-without-default": _one(_KEYLESS),
    "split-and-merge": _one(_KEYLESS),
    "chain": _one(replace(_WORDS, null_key=0.2)),
    "two-sinks": _one(_KEYLESS),
    "one-topic-twice": _one(_KEYLESS),
    "through-topic": _one(_WORDS),
}

AGGREGATIONS: dict[str, list[Variation]] = {
    **dict.fromkeys(("count", "reduce", "aggregate", "sum-of-lengths"), _one(cached=True, count=6)),
    "reduce-delete": _one(Shape(values=inputs.deletable), cached=True),
    "aggregate-delete": _one(Shape(values=inputs.deletable), cached=True, count=6),
    "count-words": _one(_WORDS, cached=True),
    "count-of-merged": _one(_TWO, cached=True, count=6, merge=True),
    "count-by-head": _one(_REPEATING, cached=True),
    "reduce-by-head": _one(_REPEATING),
    "aggregate-by-head": _one(_REPEATING),
    "two-aggregates": _one(_REPEATING),
    "aggregate-and-pass": _one(),
}

REPARTITIONS: dict[str, list[Variation]] = {
    "repartition": _one(_KEYLESS),
    "select-key-and-count": _one(_REPEATING),
    "count-after-repartition": _one(_REPEATING),
    "count-letters": _one(_REPEATING),
    "two-repartitions": _one(_REPEATING),
    "three-repartitions": _one(_REPEATING),
    "merge-order": [Variation(inputs.out_of_order_only)],
}

TIMESTAMPS: dict[str, list[Variation]] = {
    "extractor-of-value": _one(_NUMBERS),
    "extractor-of-partition-time": _one(_KEYLESS),
    "extractor-falling-back": _one(_NUMBERS),
    "extractor-and-count": _one(_NUMBERS),
}

VARIATIONS: dict[str, list[Variation]] = {**STATELESS, **AGGREGATIONS, **REPARTITIONS, **TIMESTAMPS}
