"""Measures a trickle of single records: the time until each result is visible, and the processor time, also when idle.

Key and value of a record are a word, one of twenty in turns. Each record has one result, whose key is the word or its
group. Results of a word come in the order of its records, so the third result belongs to the third record of the word.
"""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from bench.processes import Running

# The topologies of every contender: count by key; rekey, count; rekey, count, count the rows of each group.
SHAPES = {"one": "one sub-topology", "two": "two sub-topologies", "three": "three sub-topologies"}
WORDS = 20
_EVERY_S, _JITTER_S = 0.5, 0.05
_SETTLE_S = 2.0
_WITHIN_S = 120.0
_CHECK_EVERY_S = 0.5


class RoundSize(NamedTuple):
    """Timed records in a round, warm-up records before them, seconds without input at the end, and rounds."""

    records: int
    warm: int
    idle_s: float
    rounds: int


QUICK, FULL = RoundSize(30, 20, 10.0, 1), RoundSize(100, 30, 15.0, 1)


class Seen(NamedTuple):
    """A result: when it became visible, its key, and its count."""

    at_s: float
    key: str
    count: int


class Port(Protocol):
    """The topics of a contender: where records are sent and results are received."""

    def send(self, word: str) -> None: ...

    def results(self) -> Iterable[Seen]:
        """The results that became visible since the last call; waits a moment if there are none."""
        ...


@dataclass
class Measured:
    """One round of a contender."""

    first_s: float
    latencies_s: list[float]
    cores_trickling: float
    cores_idle: float


def measure(shape: str, port: Port, commands: Sequence[Sequence[str]], directory: Path, size: RoundSize) -> Measured:
    """Starts programs on a topic that has one record, sends more records, and measures."""
    with Trickle(port, counts_rows=shape == "three") as trickle:
        trickle.send()
        launched_s = time.perf_counter()
        with Running(commands, directory) as running:
            trickle.await_all(running.check)
            first_s = trickle.latencies_s(0)[0] + trickle.sent_s[0] - launched_s
            for _ in range(size.warm):
                trickle.send()
                trickle.await_all(running.check)
            timed = len(trickle.sent_s)
            trickling = Cores(running)
            trickle.send_at_intervals(size.records)
            trickle.await_all(running.check)
            cores_trickling = trickling.used()
            trickle.ended.wait(_SETTLE_S)
            idle = Cores(running)
            trickle.ended.wait(size.idle_s)
            running.check()
            return Measured(first_s, trickle.latencies_s(timed), cores_trickling, idle.used())


class Cores:
    """Processor seconds used per second, since this object was created."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._began_s, self._cpu_s = time.perf_counter(), running.cpu_s()

    def used(self) -> float:
        return (self._running.cpu_s() - self._cpu_s) / (time.perf_counter() - self._began_s)


class Trickle:
    """Sends records, and receives results in a background thread."""

    def __init__(self, port: Port, *, counts_rows: bool) -> None:
        self._port = port
        self._counts_rows = counts_rows
        self._rng = random.Random(7)
        self.sent_s: list[float] = []
        self._seen: defaultdict[int, list[float]] = defaultdict(list)
        self._results = 0
        self._problem: BaseException | None = None
        self._changed = threading.Condition()
        self.ended = threading.Event()
        self._receiver = threading.Thread(target=self._receive, daemon=True)

    def __enter__(self) -> Self:
        self._receiver.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self._receiver.join()

    def send(self) -> None:
        word = f"word-{len(self.sent_s) % WORDS:02}"
        self.sent_s.append(time.perf_counter())
        self._port.send(word)

    def send_at_intervals(self, records: int) -> None:
        """Sends `records` records, one about every half second, without waiting for results."""
        began_s = time.perf_counter()
        for number in range(records):
            due_s = began_s + number * _EVERY_S + self._rng.uniform(0, _JITTER_S)
            self.ended.wait(max(0.0, due_s - time.perf_counter()))
            self.send()

    def await_all(self, check: Callable[[], None]) -> None:
        """Waits until every record has its result; `check` raises an error if a program has ended."""
        until_s = time.monotonic() + _WITHIN_S
        with self._changed:
            while self._results < len(self.sent_s) and self._problem is None:
                if not self._changed.wait(_CHECK_EVERY_S):
                    check()
                if time.monotonic() > until_s:
                    message = f"{self._results} results for {len(self.sent_s)} records after {_WITHIN_S:.0f} s"
                    raise RuntimeError(message)
        if self._problem is not None:
            raise self._problem

    def latencies_s(self, first: int) -> list[float]:
        """Seconds from sending a record to its result, for all records from `first` on."""
        numbers = range(first, len(self.sent_s))
        return [self._seen[number % WORDS][number // WORDS] - self.sent_s[number] for number in numbers]

    def _receive(self) -> None:
        try:
            while not self.ended.is_set():
                for seen in self._port.results():
                    self._add_result(seen)
        except BaseException as problem:  # raised by await_all
            with self._changed:
                self._problem = problem
                self._changed.notify_all()

    def _add_result(self, seen: Seen) -> None:
        with self._changed:
            times = self._seen[int(seen.key.rpartition("-")[2])]
            times.append(seen.at_s)
            self._results += 1
            right = 1 if self._counts_rows else len(times)
            if seen.count != right or self._results > len(self.sent_s):
                message = f"result {len(times)} of {seen.key} has the count {seen.count}, expected {right}"
                raise RuntimeError(message)
            self._changed.notify_all()


def summary(rounds: Sequence[Measured]) -> dict[str, Any]:
    """The figures of several rounds together."""
    return {
        **percentiles_ms([latency_s for one in rounds for latency_s in one.latencies_s]),
        "first_result_s": round(statistics.median(one.first_s for one in rounds), 1),
        "cores_trickling": round(statistics.mean(one.cores_trickling for one in rounds), 3),
        "cores_idle": round(statistics.mean(one.cores_idle for one in rounds), 3),
    }


def percentiles_ms(latencies_s: Sequence[float], digits: int | None = None) -> dict[str, float]:
    """The median and two higher percentiles, rounded to `digits` digits or, by default, to whole milliseconds."""
    hundredths_s = statistics.quantiles(latencies_s, n=100, method="inclusive")
    return {f"p{percent}_ms": round(hundredths_s[percent - 1] * 1000, digits) for percent in (50, 90, 99)}


def show(title: str, figures_by_contender: dict[str, dict[str, Any] | str]) -> None:
    """Prints the figures of all contenders, or the reason why there are none."""
    print(f"\n{title}")
    print(f"  {'contender':24} {'p50 / p90 / p99 ms':>22} {'first result':>13} {'cores':>7} {'idle':>7}")
    for name, figures in figures_by_contender.items():
        if isinstance(figures, str):
            print(f"  {name:24} {figures}")
            continue
        percentiles = " / ".join(f"{figures[f'p{percent}_ms']:,}" for percent in (50, 90, 99))
        first = f"{figures['first_result_s']:.1f} s"
        cores = f"{figures['cores_trickling']:7.3f} {figures['cores_idle']:7.3f}"
        print(f"  {name:24} {percentiles:>22} {first:>13} {cores}")
    print(flush=True)
