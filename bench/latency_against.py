"""Case `latency` with `--against`: two versions of Headrace, which run at the same time and get records in turns.

So whatever else the machine does slows both alike, and a difference of a millisecond shows. Of each pair of records the
version that gets its record first is drawn at random; a record is sent when the one before has its result.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.harness import save
from bench.kafka_contenders import job_of, trickle_headrace
from bench.kafka_port import KafkaPort
from bench.processes import Running
from bench.trickle import SHAPES, RoundSize, Trickle, percentiles_ms

_PAUSE_S = 0.1
_RECORDS = 3  # for each record of case `latency` without `--against`, which waits half a second between records


class _Contender(NamedTuple):
    trickle: Trickle
    running: Running

    def send_and_wait(self) -> None:
        self.trickle.send()
        self.trickle.await_all(self.running.check)


def run(case: str, servers: str, trees: Mapping[str, Path], directory: Path, size: RoundSize) -> None:
    """Times versions of Headrace in all topologies, and saves the figures as `case`."""
    details = {}
    for shape, title in SHAPES.items():
        figures = _run_shape(shape, servers, trees, directory, size)
        details[title] = figures
        print(f"\n{title}")
        for name, values in figures.items():
            print(
                f"  {name:24} p50 / p90 / p99 {' / '.join(f'{value:.1f}' for value in values.values())} ms", flush=True
            )
    p50_ms = {
        f"{name} {title} p50_ms": figures["p50_ms"] for title, of in details.items() for name, figures in of.items()
    }
    save(case, p50_ms, details)


def _run_shape(
    shape: str, servers: str, trees: Mapping[str, Path], directory: Path, size: RoundSize
) -> dict[str, dict[str, float]]:
    with ExitStack() as stack:
        contenders = {name: _start(stack, shape, servers, name, tree, directory) for name, tree in trees.items()}
        both = list(contenders.values())
        for _ in range(size.warm):
            for contender in both:
                contender.send_and_wait()
        timed = len(both[0].trickle.sent_s)
        rng = random.Random(7)
        for _ in range(_RECORDS * size.records):
            rng.shuffle(both)
            for contender in both:
                contender.send_and_wait()
                contender.trickle.ended.wait(_PAUSE_S)
        latencies_s = {name: contender.trickle.latencies_s(timed) for name, contender in contenders.items()}
    current, *others = latencies_s
    for other in others:
        pairs = zip(latencies_s[current], latencies_s[other], strict=True)
        difference_ms = statistics.median(one - another for one, another in pairs) * 1000
        print(f"  {shape}: {current} minus {other}, median of {_RECORDS * size.records} pairs: {difference_ms:+.2f} ms")
    return {name: percentiles_ms(one, digits=1) for name, one in latencies_s.items()}


def _start(stack: ExitStack, shape: str, servers: str, name: str, tree: Path, directory: Path) -> _Contender:
    """Starts a version with a record in its input topic, and waits for its first result."""
    job = job_of(f"{name}-{shape}", shape, servers, directory)
    port = KafkaPort(job)
    stack.callback(port.close)
    trickle = stack.enter_context(Trickle(port, counts_rows=shape == "three"))
    trickle.send()
    running = stack.enter_context(Running(trickle_headrace(tree)(job), job.directory))
    trickle.await_all(running.check)
    return _Contender(trickle, running)
