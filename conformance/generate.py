"""Writes the scenarios, one file per topology id: seeded random ones and those written by hand.

Every call writes the same files: the seed of a random scenario is its topology id and its name.

    python -m conformance.generate DIRECTORY
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from conformance.handwritten import HANDWRITTEN
from conformance.scenario import Scenario
from conformance.variations import VARIATIONS


def scenarios(topology_id: str) -> list[Scenario]:
    """All scenarios of a topology, those written by hand first."""
    random = [s for variation in VARIATIONS.get(topology_id, []) for s in variation.scenarios(topology_id)]
    listed = [*HANDWRITTEN.get(topology_id, []), *random]
    if len({scenario.name for scenario in listed}) < len(listed):
        message = f"Topology {topology_id!r} has two scenarios with the same name."
        raise ValueError(message)
    return listed


def topology_ids() -> list[str]:
    return sorted({*HANDWRITTEN, *VARIATIONS})


def write(directory: Path, ids: Iterable[str]) -> None:
    """Writes one scenario file per id."""
    directory.mkdir(parents=True, exist_ok=True)
    for topology_id in ids:
        content = {"id": topology_id, "scenarios": [scenario.as_json() for scenario in scenarios(topology_id)]}
        (directory / f"{topology_id}.json").write_text(json.dumps(content))


if __name__ == "__main__":
    write(Path(sys.argv[1]), topology_ids())
