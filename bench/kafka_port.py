"""The Kafka topics of a contender of `latency`: sends input and receives results, as a client application would."""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from bench.kafka_contenders import Job
from bench.kafka_input import PARTITIONS
from bench.trickle import Seen
from headrace.topics.kafka.cluster import KafkaCluster

_POLL_S = 0.1


class KafkaPort:
    """Creates the topics, and is the client of both."""

    def __init__(self, job: Job) -> None:
        KafkaCluster(job.servers).create({job.source: PARTITIONS, job.output: PARTITIONS})
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
