"""A variation: random scenarios of one topology with the same parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from conformance.inputs import Shape
from conformance.order import Step, by_topic, merge_ordered
from conformance.scenario import Scenario


@dataclass(frozen=True)
class Variation:
    """Random scenarios with the same parameters.

    `rearrange` reorders the steps of every second scenario, which has `order` in its name; with `together` the records
    of all topics are there at once.
    """

    records: Callable[[Random], list[Step]]
    params: dict[str, Any] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    count: int = 4
    cached: bool = False
    together: bool = False
    rearrange: Callable[[list[Step]], list[Step]] | None = None
    order: str = ""

    def scenarios(self, topology_id: str) -> Iterator[Scenario]:
        """The scenarios; every call returns the same ones."""
        label = " ".join(f"{name}={value}" for name, value in (self.params | self.config).items())
        for number in range(1, self.count + 1):
            name = f"{label} random {number}".strip()
            steps = self.records(Random(f"{topology_id}/{name}"))  # noqa: S311
            if self.rearrange and number % 2 == 0:
                name, steps = f"{name} {self.order}", self.rearrange(steps)
            if self.together:
                name, steps = f"{name} together", by_topic(merge_ordered(steps))
            yield Scenario(name, steps, self.params, self.config, self.cached, self.together)


def one_input(shape: Shape, *params: dict[str, Any], **options: Any) -> list[Variation]:
    """Scenarios of one input topic, for each set of parameters."""
    return [Variation(shape.records, each, **options) for each in params or ({},)]


def several_inputs(shape: Shape, *params: dict[str, Any], **options: Any) -> list[Variation]:
    """Scenarios of several input topics, every second one in merge order, so that it may be replayed in batches."""
    return [
        Variation(shape.records, each, rearrange=merge_ordered, order="in merge order", **options)
        for each in params or ({},)
    ]


def all_together(shape: Shape, *params: dict[str, Any], count: int = 3) -> list[Variation]:
    """Scenarios of several input topics whose records are all there at once: the task must merge them by time."""
    return [Variation(shape.records, each, count=count, together=True) for each in params or ({},)]


def table_before_stream(shape: Shape, **options: Any) -> list[Variation]:
    """Scenarios of a stream and a global table, every second one with the whole table first."""

    def table_first(steps: list[Step]) -> list[Step]:
        return sorted(steps, key=lambda step: step[0] != "table")

    return [Variation(shape.records, rearrange=table_first, order="after the table", **options)]
