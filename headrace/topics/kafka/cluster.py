"""A Kafka cluster as this library needs it: which topics there are, where they end, the records between two offsets.

Offsets have gaps, left by transactions and compaction: they are positions, never counts. Nothing is read that is not
committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa

from headrace.errors import TopicError, known_names, nearest
from headrace.serdes.base import shortened
from headrace.topics.kafka.client import ANSWER_WITHIN_S, away, client, explained, passes, refuses
from headrace.topics.kafka.fetch import FETCH_SETTINGS, fetched
from headrace.topics.kafka.rules import TopicRules

_T = TypeVar("_T")

Place = tuple[str, int]

_LOOK_AGAIN_AFTER_S = 0.1
_LEADERS_WITHIN_S = 2.0
_NOT_TOLD = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PART")
# Topics say how large records may be; brokers take no request of more than 100 MB, unless told otherwise.
_MAX_RECORD_BYTES = 100_000_000
_MAX_BATCH_BYTES = 1_000_000
_IN_TIME = {"operation_timeout": ANSWER_WITHIN_S, "request_timeout": ANSWER_WITHIN_S}
# Errors that matter are raised, so the client need not print them; a broker that is back is to be found soon.
_DEFAULTS = {"log_level": 2, "reconnect.backoff.max.ms": 1000}
# Large batches: whoever sends has all of its records at hand.
_SEND_SETTINGS = {"linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
# What waits in the client is a copy; a single record has to fit.
_MAX_WAITING_BYTES = 64 << 20


def find_leaders(consumer_or_producer: Any, topics: Iterable[str]) -> None:
    """Has a client look up the leaders of topics now. By itself it does so after up to three seconds.

    Without an answer nothing is lost: the client goes on looking.
    """
    with suppress(client().KafkaException):
        for topic in topics:
            consumer_or_producer.list_topics(topic, timeout=_LEADERS_WITHIN_S)


@dataclass(frozen=True)
class KafkaCluster:
    """Brokers and the settings to reach them, named as librdkafka names them.

    One that does not answer is waited for as long as `patience_s` says.
    """

    bootstrap_servers: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    patience_s: float = ANSWER_WITHIN_S

    def __getstate__(self) -> dict[str, Any]:
        """Without clients, which belong to their process."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def topics(self) -> dict[str, int]:
        """The number of partitions of every topic but Kafka's own."""
        listed = self.patiently("list its topics", lambda: self.admin.list_topics(timeout=ANSWER_WITHIN_S)).topics
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
        expected: dict[str, int] = {}

        def answered() -> None:
            for name, answer in self.admin.create_topics(new, **_IN_TIME).items():
                try:
                    answer.result()
                    expected[name] = topics[name]
                except kafka.KafkaException as failure:
                    if not exist_ok or failure.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                        raise
                    # Another client may have created it a moment ago: brokers that do not know it yet deny it.
                    expected[name] = 1

        self.patiently(f"create {known_names(topics)}", answered)
        self._await_topics(expected)

    def ensure(self, topic: str, partitions: int, settings: Mapping[str, str]) -> int:
        """Creates a topic, or adds partitions to it; returns how many it has. Other clients may do the same at once."""
        self.create({topic: partitions}, settings)
        known = self.partitions(topic)
        if known < partitions:
            self.grow(topic, partitions)
        return max(known, partitions)

    def grow(self, topic: str, partitions: int) -> None:
        """Gives a topic more partitions, unless another client has done so."""
        kafka = client()
        with self.telling(f"add partitions to {topic!r}"):
            new = [client("admin").NewPartitions(topic, partitions)]
            for grown in self.admin.create_partitions(new, **_IN_TIME).values():
                try:
                    grown.result()
                except kafka.KafkaException as failure:
                    if failure.args[0].code() != kafka.KafkaError.INVALID_PARTITIONS:
                        raise
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
        consumer, topics = self._idle_consumers.pop() if self._idle_consumers else (self.consumer(), set[str]())
        try:
            if topic not in topics:
                find_leaders(consumer, [topic])
                topics.add(topic)
            with self.telling(f"read topic {topic!r}, partition {partition}"):
                consumer.assign([kafka.TopicPartition(topic, partition, first)])
                place = f"Kafka at {self.bootstrap_servers}, topic {topic!r}, partition {partition},"
                yield from fetched(consumer, place, first, last, self.patience_s)
                consumer.unassign()
        except BaseException:
            consumer.close()
            raise
        self._idle_consumers.append((consumer, topics))

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

    def group_consumer(self, name: str) -> Any:
        """A consumer of a group that this process keeps, to publish offsets with."""
        if name not in self._group_consumers:
            self._group_consumers[name] = self.consumer(**{"group.id": name})
        return self._group_consumers[name]

    def producer(self, rules: Iterable[TopicRules] = (), **settings: Any) -> Any:
        """A producer that keeps the order and writes nothing twice while it lives, to topics with these rules."""
        fixed = {"enable.idempotence": True, "delivery.report.only.error": True}
        largest = self.settings.get("message.max.bytes", _MAX_RECORD_BYTES)
        # A broker holds a batch of records to the limit that its topic has for one.
        batch = min([_MAX_BATCH_BYTES, *(rule.max_bytes for rule in rules if rule.max_bytes is not None)])
        sizes = {"message.max.bytes": largest, "batch.size": min(batch, int(self.settings.get("batch.size", batch)))}
        waiting = {"queue.buffering.max.kbytes": 1 + max(_MAX_WAITING_BYTES, int(largest)) // 1024}
        with self.telling("be asked"):
            return client().Producer(self._with({**fixed, **sizes, **settings}, {**_SEND_SETTINGS, **waiting}))

    def rules(self, topics: Iterable[str], *, at_most_old_s: float = 0.0) -> dict[str, TopicRules]:
        """What topics take, as they said at most so long ago. One whose settings may not be seen takes anything."""
        admin, known, wanted = client("admin"), self._known_rules, set(topics)
        now_s = time.monotonic()
        if any(topic not in known or known[topic][0] + at_most_old_s <= now_s for topic in wanted):
            asked = [admin.ConfigResource(admin.ConfigResource.Type.TOPIC, topic) for topic in wanted]
            answers = self.patiently("tell the settings of its topics", lambda: self._rules(asked))
            known.update({topic: (now_s, rules) for topic, rules in answers.items()})
        return {topic: known[topic][1] for topic in sorted(wanted)}

    def patiently(self, doing: str, call: Callable[[], _T]) -> _T:
        """Calls until it is done, fails for good, or nobody has answered for too long."""
        began_s = time.monotonic()
        with self.telling(doing):
            while True:
                try:
                    return call()
                except client().KafkaException as failure:
                    waited_s = time.monotonic() - began_s
                    if waited_s >= self.patience_s or not passes(failure.args[0], waited_s):
                        raise
                time.sleep(_LOOK_AGAIN_AFTER_S)

    @contextmanager
    def telling(self, doing: str) -> Iterator[None]:
        """Turns errors of the client into ours, which say who was asked for what."""
        kafka = client()
        try:
            yield
        except kafka.KafkaException as failure:
            error = failure.args[0]
            why = self._reason() if away(error) else None
            raise explained(error, self.bootstrap_servers, doing, self.patience_s, why) from failure

    def undelivered(self, error: Any, message: Any, doing: str) -> Exception:
        """The error to raise for a message that the client could not deliver."""
        if not refuses(error):
            return explained(error, self.bootstrap_servers, doing, self.patience_s, None)
        return TopicError(
            f"Kafka at {self.bootstrap_servers} refused records for topic {message.topic()!r}, partition "
            f"{message.partition()}: {error.str()} ({error.name()}). The first of those sent together has key "
            f"{shortened(message.key())} and a value of {len(message):,} bytes."
        )

    def _rules(self, asked: Sequence[Any]) -> dict[str, TopicRules]:
        kafka = client()
        compression = self.settings.get("compression.type", self.settings.get("compression.codec", "none"))
        found = {}
        for resource, answer in self.admin.describe_configs(asked, request_timeout=ANSWER_WITHIN_S).items():
            try:
                settings = {name: entry.value for name, entry in answer.result().items()}
            except kafka.KafkaException as failure:
                if failure.args[0].name() not in _NOT_TOLD:
                    raise
                found[resource.name] = TopicRules()
            else:
                found[resource.name] = TopicRules.of(settings, compressed=compression != "none")
        return found

    def _offsets(self, places: Iterable[Place], spec: Any) -> list[int]:
        kafka = client()
        asked = {kafka.TopicPartition(*place): spec for place in places}
        new = {place.topic for place in asked} - self._led_topics
        find_leaders(self.admin, new)
        self._led_topics.update(new)
        level = kafka.IsolationLevel.READ_COMMITTED

        def answered() -> list[int]:
            answers = self.admin.list_offsets(asked, isolation_level=level, request_timeout=ANSWER_WITHIN_S)
            try:
                offsets = [answers[place].result().offset for place in asked]
            except kafka.KafkaException as failure:
                if not away(failure.args[0]):
                    self.admin.list_topics(timeout=ANSWER_WITHIN_S)  # else it keeps asking who led before
                raise
            if kafka.OFFSET_INVALID in offsets:  # what the client says of a broker that went away in between
                raise kafka.KafkaException(kafka.KafkaError(kafka.KafkaError._TRANSPORT))
            return offsets

        return self.patiently("tell its offsets", answered) if asked else []

    def _await_topics(self, topics: Mapping[str, int]) -> None:
        """Waits until they are to be seen."""
        until = time.monotonic() + ANSWER_WITHIN_S
        while any(self.topics().get(name, 0) < partitions for name, partitions in topics.items()):
            if time.monotonic() > until:
                message = f"Kafka at {self.bootstrap_servers} does not show the new topics {known_names(topics)}."
                raise TopicError(message)
            time.sleep(0.05)

    @cached_property
    def admin(self) -> Any:
        return client("admin").AdminClient(self._with({}))

    @cached_property
    def _led_topics(self) -> set[str]:
        """Topics whose leaders the admin client knows."""
        return set()

    @cached_property
    def _known_rules(self) -> dict[str, tuple[float, TopicRules]]:
        return {}

    @cached_property
    def _group_consumers(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _idle_consumers(self) -> list[tuple[Any, set[str]]]:
        """Consumers that have read to their end and can read on elsewhere, with the topics whose leaders they know."""
        return []

    @cached_property
    def _heard(self) -> dict[str, str]:
        """What the client last said of a connection that failed: why a call then times out."""
        return {}

    def _reason(self) -> str | None:
        self.admin.poll(0)
        return self._heard.get("error")

    def _hear(self, error: Any) -> None:
        if error.name() != "_ALL_BROKERS_DOWN":
            self._heard["error"] = error.str()

    def _with(self, fixed: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Settings of a client: `fixed` ones, and those of the user before `defaults`."""
        given = {**_DEFAULTS, **(defaults or {}), "error_cb": self._hear, **self.settings}
        return {**given, **fixed, "bootstrap.servers": self.bootstrap_servers}
