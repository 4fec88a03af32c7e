"""Writes the benchmarks page and its plots into `docs/proof`."""

from __future__ import annotations

import json

from bench.harness import RESULTS
from bench.processes import ROOT
from bench.report.page import PLOTS, render

FOLDER = ROOT / "docs" / "proof"


def rendered() -> dict[str, str]:
    """The files as they must be for the current results, by their path in `FOLDER`."""
    return render(json.loads(RESULTS.read_text()))


def write() -> None:
    """Writes all files, and removes plots of cases that are no longer in the results."""
    files = rendered()
    (FOLDER / PLOTS).mkdir(parents=True, exist_ok=True)
    for plot in (FOLDER / PLOTS).glob("*.svg"):
        if f"{PLOTS}/{plot.name}" not in files:
            plot.unlink()
    for name, content in files.items():
        (FOLDER / name).write_text(content)
    print(f"Wrote {FOLDER.relative_to(ROOT)}/benchmarks.md and {len(files) - 1} plots.")
