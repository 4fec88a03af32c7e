"""Loads the goldens and cuts their steps into batches."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from conformance.catalogue import TOPOLOGIES
from conformance.order import in_merge_order, merge_ordered

FOLDER = Path(__file__).parents[2] / "conformance" / "goldens"


@dataclass(frozen=True)
class Golden:
    """One scenario: the steps that were piped, and the output of Kafka Streams."""

    id: str
    name: str
    params: dict[str, Any]
    config: dict[str, Any]
    steps: tuple[tuple[Any, ...], ...]
    outputs: dict[str, list[Any]]
    causes: dict[str, list[int]]
    cached_outputs: dict[str, list[Any]]
    error: str | None

    def topology(self):
        return TOPOLOGIES[self.id](**self.params)

    @property
    def batchable(self) -> bool:
        """Whether consecutive steps can be one batch: they are then processed in the order of the steps."""
        return self.error is None and in_merge_order([list(step) for step in self.steps], self.global_topics)

    @property
    def global_topics(self) -> frozenset[str]:
        """Topics of global tables, whose records a batch processes first."""
        return self.topology()._graph.global_topics

    @property
    def clocked(self) -> bool:
        """Whether steps advance the wall clock."""
        return any(step[0] == "@advance" for step in self.steps)

    def restarts(self, mode: str) -> list[int]:
        """The steps before which the driver is restarted."""
        return list(range(3, len(self.steps), 5)) if mode == "restarts" else []

    @property
    def depends_on_name_lengths(self) -> bool:
        """Whether results depend on the lengths of topic names, which count in a buffer limited by bytes."""
        return "max_bytes" in self.params


@cache
def goldens(topology_id: str) -> tuple[Golden, ...]:
    recorded = json.loads((FOLDER / f"{topology_id}.json").read_text())
    return tuple(_golden(topology_id, scenario) for scenario in recorded["scenarios"])


def ids() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def cut(golden: Golden, mode: str, cuts: int = 3) -> list[list[tuple[Any, ...]]]:
    """The steps in batches: one by one, or cut at random; always the same for the same scenario."""
    steps = list(golden.steps)
    if mode == "one by one" or not golden.batchable:
        return [[step] for step in steps]
    rng = random.Random(f"{golden.id} {golden.name}")
    bounds = sorted(rng.sample(range(1, len(steps)), min(cuts, len(steps) - 1))) if len(steps) > 1 else []
    return [steps[start:stop] for start, stop in zip([0, *bounds], [*bounds, len(steps)], strict=True)]


def _golden(topology_id: str, scenario: dict[str, Any]) -> Golden:
    steps = merge_ordered(scenario["steps"]) if scenario.get("together") else scenario["steps"]
    return Golden(
        topology_id,
        scenario["name"],
        scenario["params"],
        scenario.get("config", {}),
        tuple(tuple(step) for step in steps),
        scenario["outputs"],
        scenario.get("causes", {}),
        scenario.get("cached_outputs", {}),
        scenario.get("error"),
    )


def headers_of(step: tuple[Any, ...]) -> tuple[tuple[str, bytes | None], ...]:
    listed = step[4] if len(step) > 4 else []
    return tuple((name, None if text is None else text.encode()) for name, text in listed)


def as_recorded(record) -> list[Any]:
    """A record in the form of the goldens."""
    window = getattr(record.key, "window", None)
    key = record.key if window is None else {"key": record.key.key, "start": window.start_ms, "end": window.end_ms}
    shown = [key, record.value, record.timestamp_ms]
    if record.headers:
        shown.append([[name, None if value is None else value.decode()] for name, value in record.headers])
    return shown
