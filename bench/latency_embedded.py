"""Case `latency-embedded`: a trickle through embedded topics, with one and with three stages.

Like case `latency`, without a broker: a record is timed from before `LocalTopics.produce` until its result is readable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.harness import save
from bench.kafka_contenders import Job, prepare, trickle_headrace
from bench.trickle import FULL, QUICK, SHAPES, Measured, RoundSize, Seen, measure, show, summary
from bench.versions import check_out, versions
from headrace import LocalTopics, Record, serdes
from headrace.topics.embedded.log import TopicLog

PARTITIONS = 4
_SHAPES = ("one", "three")
_POLL_EVERY_S, _POLL_FOR_S = 0.001, 0.1


def run(directory: Path, *, quick: bool, against: str | None) -> None:
    prepare()
    directory.mkdir()
    size = QUICK if quick else FULL
    print(f"latency-embedded: {size.records * size.rounds} records, one every half second")
    with ExitStack() as stack:
        before = stack.enter_context(check_out(against, directory)) if against else None
        trees = versions(before, against or "")
        figures_by_shape = {shape: _run_shape(shape, trees, directory, size) for shape in _SHAPES}
    p50_ms = {
        f"{name} {shape} p50_ms": one["p50_ms"] for shape in _SHAPES for name, one in figures_by_shape[shape].items()
    }
    save("latency-embedded", p50_ms, {SHAPES[shape]: by_name for shape, by_name in figures_by_shape.items()})


def _run_shape(shape: str, trees: dict[str, Path], directory: Path, size: RoundSize) -> dict[str, dict[str, Any]]:
    rounds: dict[str, list[Measured]] = {name: [] for name in trees}
    for number in range(size.rounds):
        for name, tree in trees.items():
            began_s = time.perf_counter()
            own = directory / f"{name}-{shape}-{number}"
            port = EmbeddedPort(own / "topics")
            job = Job(shape, str(own / "topics"), "in", "out", own.name, own / "run")
            rounds[name].append(measure(shape, port, trickle_headrace(tree)(job), job.directory, size))
            figures = summary(rounds[name][-1:])
            took_s = time.perf_counter() - began_s
            print(f"  round {number + 1} {shape:5} {name:24} p50 {figures['p50_ms']:,} ms ({took_s:.0f} s)", flush=True)
    all_figures = {name: summary(done) for name, done in rounds.items()}
    show(f"latency-embedded, {SHAPES[shape]}", dict(all_figures))
    return all_figures


class EmbeddedPort:
    """The two embedded topics of a contender; looks for new results every millisecond."""

    def __init__(self, directory: Path) -> None:
        self._topics = LocalTopics(directory)
        for topic in ("in", "out"):
            self._topics.create(topic, partitions=PARTITIONS)
        self._log = TopicLog(directory)
        self._read = [0] * PARTITIONS

    def send(self, word: str) -> None:
        self._topics.produce("in", [Record(word, word, None)], value_serde=serdes.String())

    def results(self) -> Iterator[Seen]:
        until_s = time.perf_counter() + _POLL_FOR_S
        ends, seen_s = self._ends()
        while ends == self._read and seen_s < until_s:
            time.sleep(_POLL_EVERY_S)
            ends, seen_s = self._ends()
        before, self._read = self._read, ends
        for partition, (first, last) in enumerate(zip(before, ends, strict=True)):
            for batch in self._log.read("out", partition, first, last):
                for key, value in zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True):
                    yield Seen(seen_s, key.decode(), int.from_bytes(value, "big"))

    def _ends(self) -> tuple[list[int], float]:
        self._log.refresh()
        return self._log.end_offsets("out"), time.perf_counter()
