"""Counters by operator. They add up over batches, tasks and restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Counts = dict[str, dict[str, int]]

_DROPPED = "dropped: "
_COUNTER = "counter: "
_GAUGE = "gauge: "
# Counters with such a prefix are shown in a dictionary of their own.
_GROUPS = {_DROPPED: "dropped", _COUNTER: "counters", _GAUGE: "gauges"}


def counter_name(name: str) -> str:
    """The name under which a counter of a user's processor is counted."""
    return _COUNTER + name


def gauge_name(name: str) -> str:
    """The name under which a gauge of a user's processor is counted."""
    return _GAUGE + name


class Metrics:
    """Counts by operator and name: records, dropped records by reason, and metrics of the user's processors."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, operator: str, name: str, amount: int = 1) -> None:
        self._counts[operator, name] += amount

    def dropped(self, operator: str, reason: str, amount: int = 1) -> None:
        if amount:
            self._counts[operator, _DROPPED + reason] += amount

    def merge(self, other: Metrics) -> None:
        """Adds the counts of `other`."""
        self._counts.update(other._counts)

    def drain(self) -> Counts:
        """Returns all counts since the last call, and resets them."""
        counts: Counts = {}
        for (operator, name), amount in self._counts.items():
            counts.setdefault(operator, {})[name] = amount
        self._counts.clear()
        return counts


def total(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> Counts:
    """The sum of several counts."""
    summed: Counts = {}
    for part in parts:
        for operator, counters in part.items():
            own = summed.setdefault(operator, {})
            for name, amount in counters.items():
                own[name] = own.get(name, 0) + amount
    return summed


def readable(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, Any]]:
    """Counts as users see them: `dropped` records by reason, the processors' own `counters` and `gauges` by name."""
    result: dict[str, dict[str, Any]] = {}
    for operator, counters in sorted(counts.items()):
        shown: dict[str, Any] = {}
        for name, amount in sorted(counters.items()):
            prefix = next((prefix for prefix in _GROUPS if name.startswith(prefix)), None)
            if prefix is None:
                shown[name] = amount
            else:
                shown.setdefault(_GROUPS[prefix], {})[name.removeprefix(prefix)] = amount
        result[operator] = shown
    return result
