"""Turns the results file into figures, and these into ratios that are above 1 where Headrace is better."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

# Per measure: how it is called, its unit, and whether less is better.
MEASURES = {
    "rate": ("throughput", "records/s", False),
    "p50_ms": ("latency, median", "ms", True),
    "p90_ms": ("latency, 90th percentile", "ms", True),
    "p99_ms": ("latency, 99th percentile", "ms", True),
    "first_result_s": ("start to first result", "s", True),
    "cores_trickling": ("cores, one record every half second", "cores", True),
    "cores_idle": ("cores, no input", "cores", True),
    "cpu_us_per_record": ("processor time per record", "µs", True),
}
_OWN_BASES = {"tracked-keys": "clock-for-each", "day-of-readings": "clock-for-each"}


class Figure(NamedTuple):
    """One measured number. `setting` is the variant of the case, e.g. the number of sub-topologies, or empty."""

    case: str
    setting: str
    measure: str
    contender: str
    value: float


class Ratio(NamedTuple):
    """Two figures of one run; above 1 the first is better: it has the higher rate, or takes less."""

    first: Figure
    second: Figure

    @property
    def value(self) -> float:
        less_is_better = MEASURES[self.first.measure][2]
        better, worse = (self.second, self.first) if less_is_better else (self.first, self.second)
        return better.value / worse.value

    @property
    def own(self) -> bool:
        """Whether both are Headrace: other settings, sizes or versions."""
        return not re.match(r"spark|kafka|quix", self.second.contender)


def figures(results: Mapping[str, Any]) -> list[Figure]:
    """All figures of the results file, in its order."""
    details = results.get("details", {})
    found: list[Figure] = []
    for case, by_name in results["cases"].items():
        detail = details.get(case, {})
        if case.startswith("latency"):
            found += _latencies(case, detail)
            continue
        for name, rate in by_name.items():
            contender, _, setting = (name, "", "") if case == "state-size" else name.partition(" ")
            found.append(Figure(case, setting, "rate", contender, rate))
        processor_time = detail.get("cpu_us_per_record", {})
        found += [Figure(case, "", "cpu_us_per_record", name, value) for name, value in processor_time.items()]
    return found


def _latencies(case: str, detail: Mapping[str, Any]) -> Iterator[Figure]:
    for setting, by_name in detail.items():
        for name, values in by_name.items():
            if isinstance(values, dict):
                yield from (Figure(case, setting, measure, name, values[measure]) for measure in values)


def impossible(results: Mapping[str, Any], case: str) -> dict[str, str]:
    """What contenders of a case cannot do, with the reason, by setting and contender."""
    detail = results.get("details", {}).get(case, {})
    return {
        f"`{name}`, {setting}": reason
        for setting, by_name in detail.items()
        if isinstance(by_name, dict)
        for name, reason in by_name.items()
        if isinstance(reason, str)
    }


def ratios(all_figures: Sequence[Figure]) -> list[Ratio]:
    """Every ratio, the smallest first; a figure that is rounded to 0 has none."""
    groups: dict[tuple[str, str, str], list[Figure]] = {}
    for figure in filter(lambda figure: figure.value, all_figures):
        groups.setdefault((figure.case, figure.setting, figure.measure), []).append(figure)
    found = [ratio for group in groups.values() for ratio in _ratios_of(group)]
    return sorted(found, key=lambda ratio: ratio.value)


def _ratios_of(group: Sequence[Figure]) -> Iterator[Ratio]:
    """The ratios of one measure: of Headrace to every other contender, and with the cache to others with a cache."""
    by_name = {figure.contender: figure for figure in group}
    case = group[0].case
    if case == "state-size":
        yield from (Ratio(larger, group[0]) for larger in group[1:])
        return
    base = by_name[_OWN_BASES.get(case, "headrace")]
    for name, figure in by_name.items():
        if name in ("headrace-both-sides", "headrace-cached"):
            yield Ratio(figure, base)
        elif figure is not base:
            yield Ratio(base, figure)
    if "headrace-cached" in by_name and "kafka-streams-cached" in by_name:
        yield Ratio(by_name["headrace-cached"], by_name["kafka-streams-cached"])
