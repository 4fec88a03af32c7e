"""Exactly once into Kafka: what a task writes for a batch, and the note that it did, are one transaction.

The notes are records of a compacted topic, `<application_id>-headrace-commits`, one partition for each task. Unlike
offsets of a consumer group they do not expire. A start of the application takes over all tasks: it ends what an earlier
start left open, and leaves a note by which an earlier start that still runs sees that it is no longer in charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import msgspec

from headrace.errors import StateError, TopicError
from headrace.serdes.base import shortened
from headrace.topics.kafka_cluster import KafkaCluster, client
from headrace.topics.kafka_rules import Outgoing, TopicRules

_WITHIN_S = 60.0
_TAIL = 20
_AT_A_TIME = 16
_COMMITS_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}


class Note(msgspec.Struct, frozen=True):
    """What the newest transaction of a task says: whose it was, and the last batch that is written."""

    instance: str
    start: int
    batch: int


class Commits:
    """The transactions of an application; `start` counts the starts of an `instance`, which is one state directory."""

    def __init__(self, cluster: KafkaCluster, application_id: str, instance: str, start: int) -> None:
        self._cluster = cluster
        self._application_id = application_id
        self._instance = instance
        self._start = start
        self._topic = f"{application_id}-headrace-commits"

    def take_over(self, tasks: int) -> None:
        """Begins a start of the application: nothing an earlier one still does becomes visible from here on."""
        self._cluster.create({self._topic: tasks}, _COMMITS_SETTINGS)
        if self._cluster.partitions(self._topic) < tasks:
            self._cluster.grow(self._topic, tasks)
        with ThreadPoolExecutor(min(tasks, _AT_A_TIME)) as threads:
            list(threads.map(self._take_over, range(tasks)))

    def settle(self, tasks: int) -> None:
        """Waits until all that was committed is to be seen: Kafka completes a transaction after it says so."""
        with ThreadPoolExecutor(min(tasks, _AT_A_TIME)) as threads:
            list(threads.map(self._begun, range(tasks)))

    def last_batch(self) -> int | None:
        """The newest batch of which anything is written, `None` before the first."""
        tasks = self._cluster.topics().get(self._topic, 0)
        notes = [note for task in range(tasks) for note in self._notes(task, whole=True)]
        return max((note.batch for note in notes if note.instance == self._instance and note.batch >= 0), default=None)

    def write(self, task: int, batch: int, records: Iterable[Outgoing], rules: Iterable[TopicRules] = ()) -> bool:
        """Writes what a task has for a batch, unless it has done so before: then the result is False.

        Raises:
            StateError: if the application was started again since.
            TopicError: if Kafka refuses a record; then nothing is written.
        """
        producer = self._begun(task, rules)
        newest = self._notes(task, whole=False)[-1]
        if (newest.instance, newest.start) != (self._instance, self._start):
            message = (
                f"Application {self._application_id!r} was started again at Kafka {self._cluster.bootstrap_servers} "
                f"(start {newest.start}; this is start {self._start}): the newer one goes on, this one ends without "
                "writing."
            )
            raise StateError(message)
        if newest.batch >= batch:
            return False
        self._commit(producer, task, records, batch)
        return True

    def _take_over(self, task: int) -> None:
        producer = self._begun(task)
        mine = [note for note in self._notes(task, whole=True) if note.instance == self._instance]
        self._commit(producer, task, [], mine[-1].batch if mine else -1)

    def _begun(self, task: int, rules: Iterable[TopicRules] = ()) -> Any:
        """A producer that is the only one of its task: others lose the right to write, their transactions end."""
        producer = self._cluster.producer(rules, **{"transactional.id": f"{self._application_id}-{task}"})
        with self._cluster.telling("begin a transaction"):
            _patiently(lambda: producer.init_transactions(_WITHIN_S))
        return producer

    def _commit(self, producer: Any, task: int, records: Iterable[Outgoing], batch: int) -> None:
        note = msgspec.json.encode(Note(self._instance, self._start, batch))
        doing, failed = f"commit the output of batch {batch}, task {task}", list[Failed]()
        with self._cluster.telling(doing):
            producer.begin_transaction()
            try:
                send(producer, records, failed)
                producer.produce(self._topic, note, self._instance.encode(), task)
                _patiently(lambda: producer.commit_transaction(_WITHIN_S))
            except BaseException as failure:
                refused = failed[:1]  # what is aborted fails too
                # Left open it would hold up all who read committed records, until it times out.
                with suppress(client().KafkaException):
                    producer.abort_transaction(_WITHIN_S)
                if refused:
                    raise self._cluster.undelivered(*refused[0], doing) from failure
                raise

    def _notes(self, task: int, *, whole: bool) -> list[Note]:
        """The notes of a task, or at least the newest."""
        place = (self._topic, task)
        [begin], [end] = self._cluster.beginnings([place]), self._cluster.ends([place])
        first = begin if whole else max(begin, end - _TAIL)
        while True:
            values = [
                value for batch in self._cluster.read(*place, first, end) for value in batch.column("value").to_pylist()
            ]
            if values or first <= begin:
                return [msgspec.json.decode(value, type=Note) for value in values]
            first = max(begin, end - 10 * (end - first))


def write_at_least_once(cluster: KafkaCluster, records: Iterable[Outgoing], rules: Iterable[TopicRules] = ()) -> None:
    """Writes records and waits until Kafka has them; a batch that is repeated writes its records again."""
    producer = cluster.producer(rules)
    doing, failed = "take records", list[Failed]()
    with cluster.telling(doing):
        send(producer, records, failed)
        left = producer.flush(_WITHIN_S)
        if failed:
            raise cluster.undelivered(*failed[0], doing)
        if left:
            message = f"Kafka at {cluster.bootstrap_servers} did not take {left} records within {_WITHIN_S:.0f} s."
            raise TopicError(message)


Failed = tuple[Any, Any]
"""The client's error, and the message that is not delivered."""


def send(producer: Any, records: Iterable[Outgoing], failed: list[Failed]) -> None:
    """Hands records to the client; `failed` is filled as it hears of those that are not delivered."""

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            failed.append((error, message))

    for record in records:
        headers = {"headers": list(record.headers)} if record.headers else {}
        while True:
            try:
                producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    record.partition,
                    on_delivery=delivered,
                    timestamp=record.timestamp_ms,
                    **headers,
                )
                break
            except BufferError:
                producer.poll(0.1)
            except client().KafkaException as failure:
                if failure.args[0].name() != "MSG_SIZE_TOO_LARGE":
                    raise
                message = (
                    f"A record for topic {record.topic!r} (key {shortened(record.key)}) has {record.size:,} bytes, "
                    "more than message.max.bytes lets the Kafka client send. Raise it in kafka={...}, or make smaller "
                    "records."
                )
                raise TopicError(message) from failure


def _patiently(call: Callable[[], object]) -> None:
    """Calls until it is done, or fails for good."""
    kafka = client()
    for attempt in range(4):
        try:
            call()
        except kafka.KafkaException as failure:
            if attempt == 3 or not failure.args[0].retriable():
                raise
        else:
            return
