"""Compares the current version of Headrace with an earlier one in a git worktree, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import Contender, alternate, save, table
from bench.processes import ROOT

# The last version whose state was in Spark's state store.
BEFORE = "8bafb75"


@contextmanager
def check_out(commit: str, directory: Path) -> Iterator[Path | None]:
    """A worktree of a commit; without such a commit, or without git, prints the reason and yields `None`."""
    tree = directory / f"tree-{commit}"
    try:
        _git("worktree", "add", "--detach", str(tree), commit)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or error
        print(f"  Cannot check out Headrace {commit}, only the current version is timed: {str(reason).strip()}")
        yield None
        return
    try:
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)


def python(tree: Path) -> list[str]:
    """The command for this environment's Python with the Headrace of a tree, also in Spark's workers."""
    return ["env", f"PYTHONPATH={tree}", "PYTHONSAFEPATH=1", sys.executable]


def versions(before: Path | None, commit: str) -> dict[str, Path]:
    """The source trees to run, by the names of the contenders."""
    return {"headrace": ROOT} | ({} if before is None else {f"headrace-{commit}": before})


@dataclass
class Embedded:
    """One version on embedded topics; a call runs a round and returns its records and seconds after warm-up."""

    tree: Path
    workload: str
    directory: Path
    records: int
    batches: int
    warm: int

    def __call__(self, number: int) -> list[tuple[int, float]]:
        script = str(ROOT / "bench" / "embedded_headrace.py")
        sizes = map(str, (self.records, self.batches, self.warm, number))
        command = [*python(self.tree), script, self.workload, str(self.directory), *sizes]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            message = f"{command!r} ended with {done.returncode}"
            raise RuntimeError(message)
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if not Path(report["headrace"]).is_relative_to(self.tree):
            message = f"{command!r} ran {report['headrace']}, which is not the requested version"
            raise RuntimeError(message)
        return [(report["records"], report["seconds"])]


def embedded(
    title: str, workload: str, sizes: tuple[int, int, int], rounds: int, trees: dict[str, Path], directory: Path
) -> dict[str, float]:
    """Times versions in turns; `sizes` are records per batch, batches, and how many of these are warm-up."""
    contenders = [Contender(name, Embedded(tree, workload, directory / name, *sizes)) for name, tree in trees.items()]
    alternate(contenders, rounds)
    table(title, contenders)
    return {contender.name: contender.rate for contender in contenders}


def run_count(directory: Path, *, quick: bool, against: str) -> None:
    _run_against("count", directory, against, quick=quick)


def run_tumbling_count(directory: Path, *, quick: bool, against: str) -> None:
    _run_against("tumbling-count", directory, against, quick=quick)


def _run_against(case: str, directory: Path, against: str, *, quick: bool) -> None:
    sizes, rounds = ((200_000, 4, 1), 1) if quick else ((200_000, 6, 1), 3)
    directory.mkdir()
    print(f"{case} against {against}: batches of {sizes[0]:,} records, each version in a Spark session of its own")
    with check_out(against, directory) as before:
        trees = versions(before, against)
        rates = embedded(f"{case}, every update", case, sizes, rounds, trees, directory)
    save(f"{case} against {against}", rates)
