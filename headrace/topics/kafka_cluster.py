"""A Kafka cluster as this library needs it: which topics there are, where they end, the records between two offsets.

Offsets have gaps, left by transactions and compaction: they are positions, never counts. Nothing is read that is not
committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import pyarrow as pa

from headrace.errors import ConfigError, TopicError, known_names, nearest
from headrace.topics.kafka_fetch import FETCH_SETTINGS, fetched

Place = tuple[str, int]

_ANSWER_WITHIN_S = 10.0
_PASSING = ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART")
# What the client prints by itself; errors that matter are raised.
_QUIET = {"log_level": 2}
# Large batches, since whoever sends has all of its records at hand; copies of up to 64 MB of them wait in the client.
_SEND_SETTINGS = {
    "linger.ms": 50,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 64 << 10,
}


@dataclass(frozen=True)
class KafkaCluster:
    """Brokers and the settings to reach them, named as librdkafka names them."""

    bootstrap_servers: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {"bootstrap_servers": self.bootstrap_servers, "settings": dict(self.settings)}

    def topics(self) -> dict[str, int]:
        """The number of partitions of every topic but Kafka's own."""
        with self.telling("list its topics"):
            listed = self._admin.list_topics(timeout=_ANSWER_WITHIN_S).topics
        return {name: len(topic.partitions) for name, topic in listed.items() if not name.startswith("__")}

    def partitions(self, topic: str) -> int:
        """The number of partitions of a topic."""
        known = self.topics()
        if topic not in known:
            message = (
                f"There is no topic {topic!r} at {self.bootstrap_servers}.{nearest(topic, known)} "
                f"Known topics: {known_names(known)}."
            )
            raise TopicError(message)
        return known[topic]

    def create(
        self, topics: Mapping[str, int], settings: Mapping[str, str] | None = None, *, exist_ok: bool = True
    ) -> None:
        """Creates topics with so many partitions; with `exist_ok`, those that exist are left as they are."""
        kafka, admin = client(), client("admin")
        new = [
            admin.NewTopic(name, num_partitions=partitions, replication_factor=-1, config=dict(settings or {}))
            for name, partitions in topics.items()
        ]
        if not new:
            return
        created: dict[str, int] = {}
        with self.telling(f"create {known_names(topics)}"):
            for name, answer in self._admin.create_topics(new, operation_timeout=_ANSWER_WITHIN_S).items():
                try:
                    answer.result()
                    created[name] = topics[name]
                except kafka.KafkaException as failure:
                    if not exist_ok or failure.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                        raise
        self._await_topics(created)

    def grow(self, topic: str, partitions: int) -> None:
        """Gives a topic more partitions."""
        with self.telling(f"add partitions to {topic!r}"):
            for grown in self._admin.create_partitions([client("admin").NewPartitions(topic, partitions)]).values():
                grown.result()
        self._await_topics({topic: partitions})

    def beginnings(self, places: Iterable[Place]) -> list[int]:
        """The offset of the first record that each topic-partition still has."""
        return self._offsets(places, client("admin").OffsetSpec.earliest())

    def ends(self, places: Iterable[Place]) -> list[int]:
        """Where the committed records of each topic-partition end."""
        return self._offsets(places, client("admin").OffsetSpec.latest())

    def offsets_at(self, places: Iterable[Place], time_ms: int) -> list[int]:
        """The first offset of each topic-partition whose record has this timestamp or a higher one; -1: none has."""
        return self._offsets(places, client("admin").OffsetSpec.for_timestamp(time_ms))

    def read(self, topic: str, partition: int, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """The records at offsets from `first` to `last`, the latter excluded, each with its offset."""
        kafka = client()
        consumer = self.consumer()
        try:
            with self.telling(f"read topic {topic!r}, partition {partition}"):
                consumer.assign([kafka.TopicPartition(topic, partition, first)])
                place = f"Kafka at {self.bootstrap_servers}, topic {topic!r}, partition {partition},"
                yield from fetched(consumer, place, first, last)
        finally:
            consumer.close()

    def consumer(self, **settings: Any) -> Any:
        """A consumer that reads what is committed, is told where, and says when it reaches the end."""
        fixed = {
            "group.id": "headrace",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
        with self.telling("be asked"):
            return client().Consumer(self._with({**fixed, **settings}, FETCH_SETTINGS))

    def producer(self, **settings: Any) -> Any:
        """A producer that keeps the order and writes nothing twice while it lives."""
        fixed = {"enable.idempotence": True, "delivery.report.only.error": True}
        with self.telling("be asked"):
            return client().Producer(self._with({**fixed, **settings}, _SEND_SETTINGS))

    def commit_offsets(self, group: str, offsets: Mapping[Place, int]) -> None:
        """Publishes how far a consumer group has read, for tools that show its lag."""
        consumer = self.consumer(**{"group.id": group})
        try:
            with self.telling(f"take the offsets of group {group!r}"):
                positions = [client().TopicPartition(*place, offset) for place, offset in offsets.items()]
                for committed in consumer.commit(offsets=positions, asynchronous=False):
                    if committed.error is not None:
                        raise client().KafkaException(committed.error)
        finally:
            consumer.close()

    @contextmanager
    def telling(self, doing: str) -> Iterator[None]:
        """Turns errors of the client into ours, which say who was asked for what."""
        kafka = client()
        try:
            yield
        except kafka.KafkaException as failure:
            raise self._explained(failure.args[0], doing) from failure

    def _explained(self, error: Any, doing: str) -> Exception:
        code, codes = error.code(), client().KafkaError
        if code == codes._INVALID_ARG:
            return ConfigError(
                f"The Kafka client does not take a setting: {error.str()}. Settings in kafka={{...}} have the names of "
                "librdkafka, e.g. security.protocol, sasl.mechanism, sasl.username, ssl.ca.location."
            )
        if code in (codes._TRANSPORT, codes._TIMED_OUT, codes._ALL_BROKERS_DOWN, codes._RESOLVE):
            self._admin.poll(0)
            why = self._heard[0] if self._heard else error.str()
            return TopicError(
                f"No Kafka broker at {self.bootstrap_servers!r} answered within {_ANSWER_WITHIN_S:.0f} s when asked to "
                f"{doing} ({why}). Is it running there, and does kafka={{...}} say how to reach it (security.protocol)?"
            )
        if code == codes._AUTO_OFFSET_RESET:
            return TopicError(
                f"Kafka at {self.bootstrap_servers} could not {doing}: records that were to be read are gone "
                f"({error.str()}). They were deleted by the topic's retention, or the topic was made anew. Start anew "
                "with another application_id and state_dir."
            )
        return TopicError(f"Kafka at {self.bootstrap_servers} could not {doing}: {error.str()} ({error.name()}).")

    def _offsets(self, places: Iterable[Place], spec: Any) -> list[int]:
        kafka = client()
        asked = {kafka.TopicPartition(*place): spec for place in places}
        if not asked:
            return []
        until = time.monotonic() + _ANSWER_WITHIN_S
        with self.telling("tell its offsets"):
            while True:
                answers = self._admin.list_offsets(
                    asked, isolation_level=kafka.IsolationLevel.READ_COMMITTED, request_timeout=_ANSWER_WITHIN_S
                )
                try:
                    return [answers[place].result().offset for place in asked]
                except kafka.KafkaException as failure:
                    # Leaders change, and brokers learn of new topics one after the other.
                    if failure.args[0].name() not in _PASSING or time.monotonic() > until:
                        raise
                time.sleep(0.05)

    def _await_topics(self, topics: Mapping[str, int]) -> None:
        """Waits until they are to be seen."""
        until = time.monotonic() + _ANSWER_WITHIN_S
        while any(self.topics().get(name, 0) < partitions for name, partitions in topics.items()):
            if time.monotonic() > until:
                message = f"Kafka at {self.bootstrap_servers} does not show the new topics {known_names(topics)}."
                raise TopicError(message)
            time.sleep(0.05)

    @cached_property
    def _admin(self) -> Any:
        return client("admin").AdminClient(self._with({}))

    @cached_property
    def _heard(self) -> list[str]:
        """What the client said of connections that failed: why a call then times out."""
        return []

    def _with(self, fixed: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Settings of a client: `fixed` ones, and those of the user before `defaults`."""
        heard = {"error_cb": lambda error: self._heard.append(error.str())}
        given = {**_QUIET, **(defaults or {}), **heard, **self.settings}
        return {**given, **fixed, "bootstrap.servers": self.bootstrap_servers}


def client(part: str | None = None) -> ModuleType:
    """The Kafka client, imported when it is first needed.

    Raises:
        ConfigError: if it is not installed.
    """
    try:
        import confluent_kafka
        from confluent_kafka import admin
    except ImportError as error:
        message = "Topics on Kafka need its Python client. Install it with: pip install 'headrace[kafka]'"
        raise ConfigError(message) from error
    found: ModuleType = admin if part == "admin" else confluent_kafka
    return found
