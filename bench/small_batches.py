"""Case `small-batches`: many batches of 1,000 and of 10,000 records, the current version against an earlier one.

It shows the fixed cost of a batch: for counts by key, and for counts by a new key, which is one stage more. A version
is restarted for every round, with the Spark session that Headrace creates itself; the first 30 % of the batches are
warm-up.
"""

from __future__ import annotations

from pathlib import Path

from bench.harness import save
from bench.versions import BEFORE, check_out, embedded, versions

WORKLOADS = ("count", "rekey-count")
SIZES = (1_000, 10_000)


def run(directory: Path, *, quick: bool, against: str | None) -> None:
    batches, rounds = (40, 1) if quick else (100, 2)
    commit = against or BEFORE
    directory.mkdir()
    rates: dict[str, float] = {}
    ratios: dict[str, float] = {}
    with check_out(commit, directory) as before:
        trees = versions(before, commit)
        for workload in WORKLOADS:
            for records in SIZES:
                shape = f"{workload}-{records}"
                print(f"small-batches: {workload}, {batches} batches of {records:,} records")
                sizes = records, batches, batches * 3 // 10
                found = embedded(f"small-batches, {shape}", workload, sizes, rounds, trees, directory / shape)
                rates |= {f"{name} {shape}": rate for name, rate in found.items()}
                if before is not None:
                    ratios[shape] = round(found["headrace"] / found[f"headrace-{commit}"], 2)
    details = {"batches": batches, f"ratio_to_{commit}": ratios or "not available"}
    save("small-batches", rates, details)
