"""A Kafka cluster: its topics, their offsets, and the committed records between two offsets.

Offsets have gaps, left by transactions and compaction: the difference of two offsets is not a number of records.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa

from headrace._secrets import hide
from headrace.errors import TopicError, known_names, nearest
from headrace.serdes.base import shortened
from headrace.topics.kafka.client import ANSWER_WITHIN_S, client, explain, is_refusal, is_temporary, is_unavailable
from headrace.topics.kafka.fetch import FETCH_SETTINGS, fetch
from headrace.topics.kafka.rules import TopicRules

_T = TypeVar("_T")

Place = tuple[str, int]  # a topic-partition

_RETRY_INTERVAL_S = 0.1
_LEADERS_WITHIN_S = 2.0
# Errors of a topic whose settings this client may not see.
_SETTINGS_HIDDEN = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PART")
# Topics limit the size of records; brokers refuse requests of more than 100 MB by default.
_MAX_RECORD_BYTES = 100_000_000
_MAX_BATCH_BYTES = 1_000_000
_TIMEOUTS = {"operation_timeout": ANSWER_WITHIN_S, "request_timeout": ANSWER_WITHIN_S}
# Errors that matter are raised, so the client need not log them; reconnect quickly to a broker that is back.
_DEFAULTS = {"log_level": 2, "reconnect.backoff.max.ms": 1000}
# Large batches: a sender has all of its records at hand.
_SEND_SETTINGS = {"linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
# The client's queue holds copies, so it is bounded; but a single record has to fit.
_MAX_QUEUED_BYTES = 64 << 20


def find_leaders(consumer_or_producer: Any, topics: Iterable[str]) -> None:
    """Makes a client look up the leaders of topics now. By itself it would do so up to three seconds later.

    If no broker responds, no error is raised: the client continues to look.
    """
    with suppress(client().KafkaException):
        for topic in topics:
            consumer_or_producer.list_topics(topic, timeout=_LEADERS_WITHIN_S)


@dataclass(frozen=True)
class KafkaCluster:
    """Brokers, and settings of the Kafka client by librdkafka's names.

    Calls are retried for `retry_timeout_s` while no broker answers.
    """

    bootstrap_servers: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    retry_timeout_s: float = ANSWER_WITHIN_S

    def __repr__(self) -> str:
        return f"KafkaCluster({self.bootstrap_servers!r}, {hide(self.settings)!r}, {self.retry_timeout_s!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the clients, which belong to their process."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def topics(self) -> dict[str, int]:
        """The number of partitions of every topic, except Kafka's internal topics."""
        listed = self.retry("list its topics", lambda: self.admin.list_topics(timeout=ANSWER_WITHIN_S)).topics
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
        """Creates topics with these numbers of partitions. With `exist_ok`, existing topics stay as they are."""
        kafka, admin = client(), client("admin")
        new = [
            admin.NewTopic(name, num_partitions=partitions, replication_factor=-1, config=dict(settings or {}))
            for name, partitions in topics.items()
        ]
        if not new:
            return
        expected: dict[str, int] = {}

        def create_once() -> None:
            for name, answer in self.admin.create_topics(new, **_TIMEOUTS).items():
                try:
                    answer.result()
                    expected[name] = topics[name]
                except kafka.KafkaException as failure:
                    if not exist_ok or failure.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                        raise
                    # Another client may have created it a moment ago: not all brokers know it yet.
                    expected[name] = 1

        self.retry(f"create {known_names(topics)}", create_once)
        self._await_topics(expected)

    def ensure(self, topic: str, partitions: int, settings: Mapping[str, str]) -> int:
        """Creates a topic, or adds the missing partitions; returns how many it has.

        Other clients may do the same at the same time.
        """
        self.create({topic: partitions}, settings)
        existing = self.partitions(topic)
        if existing < partitions:
            self.grow(topic, partitions)
        return max(existing, partitions)

    def grow(self, topic: str, partitions: int) -> None:
        """Adds partitions to a topic until it has `partitions`, unless another client has done so."""
        kafka = client()
        with self.translate_errors(f"add partitions to {topic!r}"):
            new = [client("admin").NewPartitions(topic, partitions)]
            for answer in self.admin.create_partitions(new, **_TIMEOUTS).values():
                try:
                    answer.result()
                except kafka.KafkaException as failure:
                    if failure.args[0].code() != kafka.KafkaError.INVALID_PARTITIONS:
                        raise
        self._await_topics({topic: partitions})

    def begin_offsets(self, places: Iterable[Place]) -> list[int]:
        """The offset of the first record in each topic-partition."""
        return self._offsets(places, client("admin").OffsetSpec.earliest())

    def end_offsets(self, places: Iterable[Place]) -> list[int]:
        """Up to which offset readers of committed records can read each topic-partition, in the order of `places`.

        Kafka calls it the last stable offset: where the first open transaction begins, or else the end of the log.
        """
        return self._offsets(places, client("admin").OffsetSpec.latest())

    def stored_ends(self, places: Iterable[Place]) -> list[int]:
        """The offset after the last record of each topic-partition, committed or not."""
        return self._offsets(places, client("admin").OffsetSpec.latest(), committed=False)

    def offsets_at(self, places: Iterable[Place], time_ms: int) -> list[int]:
        """The first offset of each topic-partition with this timestamp or a higher one; -1 if there is none."""
        return self._offsets(places, client("admin").OffsetSpec.for_timestamp(time_ms))

    def read(self, topic: str, partition: int, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Reads the records at offsets `first` to `last`, exclusive, each with its offset."""
        kafka = client()
        consumer, topics = self._idle_consumers.pop() if self._idle_consumers else (self.consumer(), set[str]())
        try:
            if topic not in topics:
                find_leaders(consumer, [topic])
                topics.add(topic)
            with self.translate_errors(f"read topic {topic!r}, partition {partition}"):
                consumer.assign([kafka.TopicPartition(topic, partition, first)])
                subject = f"Kafka at {self.bootstrap_servers}, topic {topic!r}, partition {partition},"
                yield from fetch(consumer, subject, first, last, self.retry_timeout_s)
                consumer.unassign()
        except BaseException:
            consumer.close()
            raise
        self._idle_consumers.append((consumer, topics))

    def consumer(self, **settings: Any) -> Any:
        """Creates a consumer of committed records, which also reports the end of each partition.

        The caller assigns topic-partitions and offsets. `settings` override the user's settings.
        """
        fixed = {
            "group.id": "headrace",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
        with self.translate_errors("accept a consumer"):
            return client().Consumer(self._client_settings({**fixed, **settings}, FETCH_SETTINGS))

    def group_consumer(self, name: str) -> Any:
        """The consumer with which this process publishes the offsets of a group."""
        if name not in self._group_consumers:
            self._group_consumers[name] = self.consumer(**{"group.id": name})
        return self._group_consumers[name]

    def producer(self, rules: Iterable[TopicRules] = (), **settings: Any) -> Any:
        """Creates an idempotent producer for topics with these rules: it keeps the order and writes nothing twice."""
        fixed = {"enable.idempotence": True, "delivery.report.only.error": True}
        largest = self.settings.get("message.max.bytes", _MAX_RECORD_BYTES)
        # A broker applies the topic's limit for a record to a whole batch of records.
        batch = max_batch_bytes(rules)
        sizes = {"message.max.bytes": largest, "batch.size": min(batch, int(self.settings.get("batch.size", batch)))}
        queue = {"queue.buffering.max.kbytes": 1 + max(_MAX_QUEUED_BYTES, int(largest)) // 1024}
        with self.translate_errors("accept a producer"):
            return client().Producer(self._client_settings({**fixed, **sizes, **settings}, {**_SEND_SETTINGS, **queue}))

    def rules(self, topics: Iterable[str], *, max_age_s: float = 0.0) -> dict[str, TopicRules]:
        """The rules of topics, cached for `max_age_s`. A topic whose settings this client may not see has no rules."""
        admin, known, wanted = client("admin"), self._known_rules, set(topics)
        now_s = time.monotonic()
        if any(topic not in known or known[topic][0] + max_age_s <= now_s for topic in wanted):
            resources = [admin.ConfigResource(admin.ConfigResource.Type.TOPIC, topic) for topic in wanted]
            answers = self.retry("describe its topics", lambda: self._fetch_rules(resources))
            known.update({topic: (now_s, rules) for topic, rules in answers.items()})
        return {topic: known[topic][1] for topic in sorted(wanted)}

    def retry(self, doing: str, call: Callable[[], _T]) -> _T:
        """Repeats a call until it succeeds, fails with an error that is not temporary, or `retry_timeout_s` is over.

        `doing` completes the sentence "Kafka could not ..." of the error.
        """
        began_s = time.monotonic()
        with self.translate_errors(doing):
            while True:
                try:
                    return call()
                except client().KafkaException as failure:
                    waited_s = time.monotonic() - began_s
                    if waited_s >= self.retry_timeout_s or not is_temporary(failure.args[0], waited_s):
                        raise
                time.sleep(_RETRY_INTERVAL_S)

    @contextmanager
    def translate_errors(self, doing: str) -> Iterator[None]:
        """Converts errors of the client to errors of Headrace, which name the brokers and the operation `doing`."""
        kafka = client()
        try:
            yield
        except kafka.KafkaException as failure:
            error = failure.args[0]
            why = self._connection_error() if is_unavailable(error) else None
            raise explain(error, self.bootstrap_servers, doing, self.retry_timeout_s, why) from failure

    def delivery_error(self, error: Any, message: Any, doing: str) -> Exception:
        """The error to raise for a message that the client could not deliver."""
        if not is_refusal(error):
            return explain(error, self.bootstrap_servers, doing, self.retry_timeout_s, None)
        return TopicError(
            f"Kafka at {self.bootstrap_servers} refused records for topic {message.topic()!r}, partition "
            f"{message.partition()}: {error.str()} ({error.name()}). The first record of the refused batch has key "
            f"{shortened(message.key())} and a value of {len(message):,} bytes."
        )

    def _fetch_rules(self, resources: Sequence[Any]) -> dict[str, TopicRules]:
        kafka = client()
        compression = self.settings.get("compression.type", self.settings.get("compression.codec", "none"))
        rules = {}
        for resource, answer in self.admin.describe_configs(resources, request_timeout=ANSWER_WITHIN_S).items():
            try:
                settings = {name: entry.value for name, entry in answer.result().items()}
            except kafka.KafkaException as failure:
                if failure.args[0].name() not in _SETTINGS_HIDDEN:
                    raise
                rules[resource.name] = TopicRules()
            else:
                rules[resource.name] = TopicRules.of(settings, compressed=compression != "none")
        return rules

    def _offsets(self, places: Iterable[Place], spec: Any, *, committed: bool = True) -> list[int]:
        kafka = client()
        requests = {kafka.TopicPartition(*place): spec for place in places}
        new = {place.topic for place in requests} - self._led_topics
        find_leaders(self.admin, new)
        self._led_topics.update(new)
        level = kafka.IsolationLevel.READ_COMMITTED if committed else kafka.IsolationLevel.READ_UNCOMMITTED

        def list_offsets() -> list[int]:
            answers = self.admin.list_offsets(requests, isolation_level=level, request_timeout=ANSWER_WITHIN_S)
            try:
                offsets = [answers[partition].result().offset for partition in requests]
            except kafka.KafkaException as failure:
                if not is_unavailable(failure.args[0]):
                    self.admin.list_topics(timeout=ANSWER_WITHIN_S)  # else the client keeps asking the former leader
                raise
            if kafka.OFFSET_INVALID in offsets:  # what the client returns if a broker went away in between
                raise kafka.KafkaException(kafka.KafkaError(kafka.KafkaError._TRANSPORT))
            return offsets

        return self.retry("list its offsets", list_offsets) if requests else []

    def _await_topics(self, topics: Mapping[str, int]) -> None:
        """Waits until the brokers list these topics, each with at least its number of partitions."""
        until = time.monotonic() + ANSWER_WITHIN_S
        while any(self.topics().get(name, 0) < partitions for name, partitions in topics.items()):
            if time.monotonic() > until:
                message = (
                    f"Kafka at {self.bootstrap_servers} does not list the new topics {known_names(topics)} within "
                    f"{ANSWER_WITHIN_S:.0f} s. Check the brokers' logs, and try again."
                )
                raise TopicError(message)
            time.sleep(0.05)

    @cached_property
    def admin(self) -> Any:
        return client("admin").AdminClient(self._client_settings({}))

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
        """Connected consumers that have finished reading, with the topics whose leaders they know."""
        return []

    @cached_property
    def _reported(self) -> dict[str, str]:
        """The last connection error that the client reported: the reason why a call then times out."""
        return {}

    def _connection_error(self) -> str | None:
        self.admin.poll(0)
        return self._reported.get("error")

    def _on_client_error(self, error: Any) -> None:
        if error.name() != "_ALL_BROKERS_DOWN":
            self._reported["error"] = error.str()

    def _client_settings(self, fixed: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The settings of a client: `fixed` ones override the user's, the user's override `defaults`."""
        settings = {**_DEFAULTS, **(defaults or {}), "error_cb": self._on_client_error, **self.settings}
        return {**settings, **fixed, "bootstrap.servers": self.bootstrap_servers}


def max_batch_bytes(rules: Iterable[TopicRules]) -> int:
    """The size of batches that all topics with these rules accept."""
    return min([_MAX_BATCH_BYTES, *(rule.max_bytes for rule in rules if rule.max_bytes is not None)])
