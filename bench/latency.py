"""Case `latency`: a trickle through Kafka, exactly once, beside Kafka Streams and Quix Streams.

There is one broker, a single node on the same machine, and topics of 4 partitions for every contender and round. The
topologies have one to three sub-topologies: count by key; rekey and count; rekey, count, group the table and count its
rows. A record is in the input topic when a contender is started; its result gives the start-up time. Then come a
warm-up, in which each record is sent as soon as the one before has its result, and one record every half second, each
timed from before it is produced until a consumer of committed records has its result. At the end there is no input for
a while. "Cores" are the processor seconds per second of all processes of the contender, without the broker's. With
`--against`, only the two versions of Headrace run: see `latency_against.py`.

Headrace has its default settings, after `headrace prepare`, Kafka Streams those of `exactly_once_v2`, with which it
commits every 100 ms. Quix Streams commits every 100 ms too, but first waits up to a second for input; in
`quix-streams-poll` it waits 100 ms. It has no tables and no second `group_by`, so it cannot run the third topology.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import latency_against
from bench.harness import save
from bench.kafka_contenders import (
    Commands,
    build,
    job_of,
    prepare,
    trickle_headrace,
    trickle_kafka_streams,
    trickle_quix_streams,
)
from bench.kafka_port import KafkaPort
from bench.processes import ROOT
from bench.trickle import FULL, QUICK, SHAPES, Measured, RoundSize, measure, show, summary
from bench.versions import check_out, versions
from tests.support.broker import Broker

_IMPOSSIBLE = {
    (name, "three"): "not possible: Quix Streams has no tables and no second group_by"
    for name in ("quix-streams", "quix-streams-poll")
}


def run(directory: Path, *, quick: bool, against: str | None) -> None:
    prepare()
    directory.mkdir()
    size = QUICK if quick else FULL
    with ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory(dir=directory))
        broker = Broker(Path(data), command=("java", "-Xmx1g"))
        broker.start()
        stack.callback(broker.kill)
        if against:
            trees = versions(stack.enter_context(check_out(against, directory)), against)
            latency_against.run(f"latency against {against}", broker.bootstrap_servers, trees, directory, size)
            return
        build()
        contenders: dict[str, Commands] = {
            "headrace": trickle_headrace(ROOT),
            "kafka-streams": trickle_kafka_streams,
            "quix-streams": trickle_quix_streams(poll_s=1.0),
            "quix-streams-poll": trickle_quix_streams(poll_s=0.1),
        }
        print(f"latency: {size.records * size.rounds} records, one every half second, exactly once")
        figures_by_shape = {
            shape: _run_shape(shape, contenders, broker.bootstrap_servers, directory, size) for shape in SHAPES
        }
    p50_ms = {
        f"{name} {shape} p50_ms": figures["p50_ms"]
        for shape, by_name in figures_by_shape.items()
        for name, figures in by_name.items()
        if not isinstance(figures, str)
    }
    save("latency", p50_ms, {SHAPES[shape]: by_name for shape, by_name in figures_by_shape.items()})


def _run_shape(
    shape: str, contenders: dict[str, Commands], servers: str, directory: Path, size: RoundSize
) -> dict[str, dict[str, Any] | str]:
    rounds: dict[str, list[Measured]] = {name: [] for name in contenders if (name, shape) not in _IMPOSSIBLE}
    for number in range(size.rounds):
        for name, done in rounds.items():
            began_s = time.perf_counter()
            job_name = f"{name}-{shape}-{number}"
            job = job_of(job_name, shape, servers, directory)
            with ExitStack() as stack:
                port = KafkaPort(job)
                stack.callback(port.close)
                done.append(measure(shape, port, contenders[name](job), job.directory, size))
            figures = summary(done[-1:])
            took_s = time.perf_counter() - began_s
            print(f"  round {number + 1} {shape:5} {name:24} p50 {figures['p50_ms']:,} ms ({took_s:.0f} s)", flush=True)
    all_figures = {name: summary(rounds[name]) if name in rounds else _IMPOSSIBLE[name, shape] for name in contenders}
    show(f"latency, {SHAPES[shape]}", all_figures)
    return all_figures
