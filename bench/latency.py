"""Case `latency`: a trickle through Kafka, exactly once, beside Kafka Streams and Quix Streams.

There is one broker, a single node on the same machine, and topics of 4 partitions for every contender and round. The
topologies have one to three sub-topologies: count by key; rekey and count; rekey, count, group the table and count its
rows. A record is in the input topic when a contender is started; its result gives the start-up time. Then come a
warm-up, in which each record is sent as soon as the one before has its result, and one record every half second, each
timed from before it is produced until a consumer of committed records has its result. At the end there is no input for
a while. "Cores" are the processor seconds per second of all processes of the contender, without the broker's.

Headrace has its default settings, after `headrace prepare`, Kafka Streams those of `exactly_once_v2`, with which it
commits every 100 ms. Quix Streams commits every 100 ms too, but first waits up to a second for input; in
`quix-streams-poll` it waits 100 ms. It has no tables and no second `group_by`, so it cannot run the third topology.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from bench.harness import save
from bench.kafka_contenders import (
    Commands,
    Job,
    build,
    prepare,
    trickle_headrace,
    trickle_kafka_streams,
    trickle_quix_streams,
)
from bench.kafka_input import PARTITIONS
from bench.trickle import FULL, QUICK, SHAPES, Measured, RoundSize, Seen, measure, show, summary
from bench.versions import check_out, versions
from headrace.topics.kafka.cluster import KafkaCluster
from tests.support.broker import Broker

_POLL_S = 0.1
_IMPOSSIBLE = {
    (name, "three"): "not possible: Quix Streams has no tables and no second group_by"
    for name in ("quix-streams", "quix-streams-poll")
}


def run(directory: Path, *, quick: bool, against: str | None) -> None:
    prepare()
    build()
    directory.mkdir()
    size = QUICK if quick else FULL
    print(f"latency: {size.records * size.rounds} records, one every half second, exactly once")
    with ExitStack() as stack:
        before = stack.enter_context(check_out(against, directory)) if against else None
        contenders: dict[str, Commands] = {
            name: trickle_headrace(tree) for name, tree in versions(before, against or "").items()
        }
        contenders |= {
            "kafka-streams": trickle_kafka_streams,
            "quix-streams": trickle_quix_streams(poll_s=1.0),
            "quix-streams-poll": trickle_quix_streams(poll_s=0.1),
        }
        data = stack.enter_context(tempfile.TemporaryDirectory(dir=directory))
        broker = Broker(Path(data), command=("java", "-Xmx1g"))
        broker.start()
        stack.callback(broker.kill)
        cluster = KafkaCluster(broker.bootstrap_servers)
        figures_by_shape = {shape: _run_shape(shape, contenders, cluster, directory, size) for shape in SHAPES}
    p50_ms = {
        f"{name} {shape} p50_ms": figures["p50_ms"]
        for shape, by_name in figures_by_shape.items()
        for name, figures in by_name.items()
        if not isinstance(figures, str)
    }
    save("latency", p50_ms, {SHAPES[shape]: by_name for shape, by_name in figures_by_shape.items()})


def _run_shape(
    shape: str, contenders: dict[str, Commands], cluster: KafkaCluster, directory: Path, size: RoundSize
) -> dict[str, dict[str, Any] | str]:
    rounds: dict[str, list[Measured]] = {name: [] for name in contenders if (name, shape) not in _IMPOSSIBLE}
    for number in range(size.rounds):
        for name, done in rounds.items():
            began_s = time.perf_counter()
            job_name = f"{name}-{shape}-{number}"
            source, output = f"{job_name}-input", f"{job_name}-output"
            cluster.create({source: PARTITIONS, output: PARTITIONS})
            job = Job(shape, cluster.bootstrap_servers, source, output, job_name, directory / job_name)
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


class KafkaPort:
    """The Kafka topics of a contender: sends input and receives results, as a client application would."""

    def __init__(self, job: Job) -> None:
        self._source = job.source
        client = {"bootstrap.servers": job.servers, "log_level": 2}
        self._producer = Producer({**client, "acks": "all", "linger.ms": 0})
        self._consumer = Consumer(
            {**client, "group.id": f"{job.name}-results", "isolation.level": "read_committed"}
            | {"enable.auto.commit": False, "auto.offset.reset": "earliest"}
        )
        self._consumer.assign([TopicPartition(job.output, number, 0) for number in range(PARTITIONS)])

    def send(self, word: str) -> None:
        self._producer.produce(self._source, word.encode(), word.encode())
        if self._producer.flush(30):
            message = f"a record could not be written to {self._source} within 30 s"
            raise RuntimeError(message)

    def results(self) -> Iterator[Seen]:
        message = self._consumer.poll(_POLL_S)
        seen_s = time.perf_counter()
        if message is None:
            return
        if message.error() is not None:
            raise KafkaException(message.error())
        yield Seen(seen_s, message.key().decode(), int.from_bytes(message.value(), "big"))

    def close(self) -> None:
        self._consumer.close()
