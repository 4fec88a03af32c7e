"""Runs contenders in turns and reports medians: only ratios within one run are meaningful, not absolute times."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import headrace as hr
from bench.processes import ROOT, Family
from headrace._runtime.spark.starting import log_of
from headrace._state.log.entries import decode
from headrace._state.log.state_log import LOG

RESULTS = Path(__file__).with_name("results.json")


@dataclass
class Contender:
    """One of the things compared. `run` runs a round and returns records and seconds of each batch after warm-up."""

    name: str
    run: Callable[[int], list[tuple[int, float]]]
    batches: list[tuple[int, float]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Records per second, the median over all batches after warm-up."""
        return statistics.median(records / seconds for records, seconds in self.batches)


def alternate(contenders: Iterable[Contender], rounds: int) -> None:
    """Runs the rounds of all contenders in turns, so that a busy machine affects all alike."""
    listed = list(contenders)
    for number in range(rounds):
        for contender in listed:
            started = time.perf_counter()
            batches = contender.run(number)
            contender.batches += batches
            shown = ", ".join(f"{records / seconds:,.0f}" for records, seconds in batches)
            print(
                f"  round {number + 1} {contender.name:24} {shown} records/s ({time.perf_counter() - started:.0f} s)",
                flush=True,
            )


def table(title: str, contenders: list[Contender]) -> None:
    """Prints medians and the ratio of the first contender to each."""
    first = contenders[0]
    print(f"\n{title}")
    print(f"  {'contender':24} {'records/s':>12} {'batches':>8} {f'{first.name} is':>16}")
    for contender in contenders:
        ratio = f"{first.rate / contender.rate:.2f}x"
        print(f"  {contender.name:24} {contender.rate:12,.0f} {len(contender.batches):8} {ratio:>16}")


def save(case: str, rates: dict[str, float], details: dict[str, Any] | None = None) -> None:
    """Adds a case to the results file, or replaces it there."""
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cases": {}}
    results["machine"] = {"cores": os.cpu_count(), "python": platform.python_version()}
    results["cases"][case] = {name: round(rate) for name, rate in rates.items()}
    results.setdefault("runs", {})[case] = _software()
    if details:
        results.setdefault("details", {})[case] = details
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


def _software() -> dict[str, str]:
    """What is measured, and when: the commit of this tree, the version of PySpark, the date."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    head = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    commit = head.stdout.strip() or version("headrace")
    return {"headrace": commit, "pyspark": version("pyspark"), "date": f"{datetime.now(UTC):%Y-%m-%d}"}


def catch_up(topology: hr.Topology, config: hr.StreamsConfig, spark: Any) -> list[float]:
    """Processes all available input; returns the seconds of each batch, the first of which includes the start."""
    hr.Streams(topology, config, spark=spark).process_available()
    return batch_seconds(config)


def batch_seconds(config: hr.StreamsConfig) -> list[float]:
    """How long each batch of the last start took, by the state log: from one commit to the next.

    Spark's own progress does not show it, because one Spark micro-batch may run many of ours. The log has at least the
    last 30.
    """
    files = log_of(config).files
    names = sorted(name for name in files.list(LOG) if name.isdigit())
    entries = [decode(files.read(f"{LOG}/{name}"), f"entry {name}") for name in names]
    last = [entry for entry in entries if entry.epoch == entries[-1].epoch]
    times_ms = [noted.time_ms for entry in last if (noted := entry.commit or entry.start) is not None]
    return [(after - before) / 1000 for before, after in pairwise(times_ms)]


def warm_batches(seconds: list[float], records: int) -> list[tuple[int, float]]:
    """Records and seconds of each batch except the first."""
    return [(records, one) for one in seconds[1:]]


def warm_query_batches(query: Any, records: int) -> list[tuple[int, float]]:
    """Records and seconds of each batch of a finished Spark query, except the first, which includes its planning."""
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    return warm_batches([p["durationMs"]["triggerExecution"] / 1000 for p in progress], records)


class WorkerMemory:
    """Measures the peak private memory of the largest Python worker within a `with` block."""

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        family = Family([os.getpid()])
        while not self._ended.wait(0.1):
            workers = [pid for pid in family.pids() if pid != os.getpid()]
            self.peak_mb = max(self.peak_mb, *map(_private_mb, workers), 0.0)


def _private_mb(pid: int) -> float:
    """The private memory of a process, 0 for the JVM.

    Pages of a replica's file do not count: they belong to the page cache, which the system reclaims on demand.
    """
    try:
        fields = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return 0.0
    return 0.0 if fields["Name"] == "java" else int(fields.get("RssAnon", "0").split()[0]) / 1024
