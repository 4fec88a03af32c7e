"""Counts what is compared with Kafka Streams, for the page `docs/proof/conformance.md`.

python -m conformance.counts              prints the page
python -m conformance.counts --update     writes it
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from conformance.api.equivalents import equivalents
from conformance.api.listing import read_listing
from conformance.catalogue import FAMILIES, REQUIRES, TOPOLOGIES
from conformance.fuzz.sample import load
from conformance.generate import scenarios as generated_scenarios
from conformance.handwritten import HANDWRITTEN
from conformance.mutations import MUTATIONS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "proof" / "conformance.md"
_GOLDENS = ROOT / "conformance" / "goldens"
_DEVIATIONS = ROOT / "conformance" / "deviations.md"
_Scenario = dict[str, Any]


def page() -> str:
    """The text of the page."""
    template = (Path(__file__).parent / "counts.md").read_text()
    return template.format(**_totals(), families=_families(), names=_names(), **_sample())


def _totals() -> dict[str, str]:
    every = [scenario for topology_id in TOPOLOGIES for scenario in _recorded(topology_id)]
    by_hand = sum(len(listed) for listed in HANDWRITTEN.values())
    at_random = sum(len(generated_scenarios(topology_id)) for topology_id in TOPOLOGIES) - by_hand
    rows = re.findall(r"^\| (?!---|what Kafka Streams does)", _DEVIATIONS.read_text(), re.MULTILINE)
    counts = {
        "topologies": len(TOPOLOGIES),
        "missing": len(REQUIRES),
        "scenarios": len(every),
        "by_hand": by_hand,
        "at_random": at_random,
        "inputs": _inputs(every),
        "outputs": _outputs(every),
        "clocked": sum(any(step[0] == "@advance" for step in one["steps"]) for one in every),
        "cached": sum("cached_outputs" in one for one in every),
        "refused": sum("error" in one for one in every),
        "together": sum(bool(one.get("together")) for one in every),
        "mutations": len(MUTATIONS),
        "differences": len(rows),
    }
    return {"kafka": _kafka_version(), **{name: f"{number:,}" for name, number in counts.items()}}


def _sample() -> dict[str, str]:
    sample = load()
    counts = {
        "cases": len(sample),
        "operators": len({node.op for recorded in sample for node in recorded.case.nodes}),
        "case_nodes": sum(len(recorded.case.nodes) for recorded in sample),
        "case_outputs": sum(len(records) for one in sample for records in one.answer["outputs"].values()),
        "with_rules": sum(bool(recorded.rules) for recorded in sample),
    }
    return {name: f"{number:,}" for name, number in counts.items()}


def _families() -> str:
    """A table with one row for each theme of the catalogue."""
    lines = ["| theme | topologies | scenarios | input records | output records |", "|---|--:|--:|--:|--:|"]
    for family in FAMILIES:
        ids = [name for name, build in TOPOLOGIES.items() if build.__module__ == family.__name__]
        listed = [scenario for topology_id in ids for scenario in _recorded(topology_id)]
        name = family.__name__.rpartition(".")[2].replace("_", " ")
        numbers = (len(ids), len(listed), _inputs(listed), _outputs(listed))
        lines.append(f"| {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |")
    return "\n".join(lines)


def _names() -> str:
    counts = Counter(one.kind for one in equivalents(read_listing()))
    return (
        f"{counts.total():,} public names: {counts['present']:,} have an equivalent, {counts['not needed']:,} have no "
        f"meaning here, {counts['missing']:,} are missing"
    )


def _inputs(listed: Iterable[_Scenario]) -> int:
    return sum(step[0] != "@advance" for scenario in listed for step in scenario["steps"])


def _outputs(listed: Iterable[_Scenario]) -> int:
    return sum(len(records) for scenario in listed for records in scenario["outputs"].values())


@cache
def _recorded(topology_id: str) -> list[_Scenario]:
    scenarios: list[_Scenario] = _golden(topology_id)["scenarios"]
    return scenarios


def _kafka_version() -> str:
    [version] = {_golden(topology_id)["kafka"] for topology_id in TOPOLOGIES}
    return str(version)


@cache
def _golden(topology_id: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_GOLDENS / f"{topology_id}.json").read_text())
    return content


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        PAGE.write_text(page())
    else:
        print(page(), end="")
