"""Exactly once into Kafka: what a task writes for a batch, and the note that it did, are one transaction.

The notes are records of a compacted topic, `<application_id>-headrace-commits`, one partition for each task. Unlike
offsets of a consumer group they do not expire. A start of the application takes over all tasks: it ends what an earlier
start left open, and leaves a note by which an earlier start that still runs sees that it is no longer in charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from headrace.errors import StateError, TopicError
from headrace.record import Headers
from headrace.topics.kafka_cluster import KafkaCluster, client

_WITHIN_S = 60.0
_TAIL = 20
_AT_A_TIME = 16
_COMMITS_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}


class Outgoing(NamedTuple):
    """A record with its place to go to."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers


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
        self.topic = f"{application_id}-headrace-commits"

    def take_over(self, tasks: int) -> None:
        """Begins a start of the application: nothing an earlier one still does becomes visible from here on."""
        self._cluster.create({self.topic: tasks}, _COMMITS_SETTINGS)
        if self._cluster.partitions(self.topic) < tasks:
            self._cluster.grow(self.topic, tasks)
        with ThreadPoolExecutor(min(tasks, _AT_A_TIME)) as threads:
            list(threads.map(self._take_over, range(tasks)))

    def settle(self, tasks: int) -> None:
        """Waits until all that was committed is to be seen: Kafka completes a transaction after it says so."""
        with ThreadPoolExecutor(min(tasks, _AT_A_TIME)) as threads:
            list(threads.map(self._begun, range(tasks)))

    def last_batch(self) -> int | None:
        """The newest batch of which anything is written, `None` before the first."""
        notes = [note for task in range(self._tasks()) for note in self._own(task)]
        return max((note.batch for note in notes if note.batch >= 0), default=None)

    def noted(self) -> bool:
        """Whether the topic has notes of this instance."""
        return any(self._own(task) for task in range(self._tasks()))

    def forget(self) -> None:
        """Removes the notes of this instance; a start that still runs can write no more."""
        with ThreadPoolExecutor(_AT_A_TIME) as threads:
            list(threads.map(lambda task: self._commit(self._begun(task), task, [], None), range(self._tasks())))

    def write(self, task: int, batch: int, records: Iterable[Outgoing]) -> bool:
        """Writes what a task has for a batch, unless it has done so before: then the result is False.

        Raises:
            StateError: if the application was started again since.
        """
        producer = self._begun(task)
        newest = self._notes(task, whole=False)[-1]
        if newest is None:
            message = (
                f"Application {self._application_id!r} was reset at Kafka {self._cluster.bootstrap_servers}: this "
                "start ends without writing."
            )
            raise StateError(message)
        if (newest.instance, newest.start) != (self._instance, self._start):
            message = (
                f"Application {self._application_id!r} was started again at Kafka {self._cluster.bootstrap_servers} "
                f"(start {newest.start}; this is start {self._start}): the newer one goes on, this one ends without "
                "writing."
            )
            raise StateError(message)
        if newest.batch >= batch:
            return False
        self._commit(producer, task, records, Note(self._instance, self._start, batch))
        return True

    def _take_over(self, task: int) -> None:
        producer = self._begun(task)
        own = self._own(task)
        self._commit(producer, task, [], Note(self._instance, self._start, own[-1].batch if own else -1))

    def _begun(self, task: int) -> Any:
        """A producer that is the only one of its task: others lose the right to write, their transactions end."""
        producer = self._cluster.producer(**{"transactional.id": f"{self._application_id}-{task}"})
        with self._cluster.telling("begin a transaction"):
            _patiently(lambda: producer.init_transactions(_WITHIN_S))
        return producer

    def _commit(self, producer: Any, task: int, records: Iterable[Outgoing], note: Note | None) -> None:
        """Writes records and the note that stands for them in one transaction; `None` removes the earlier notes."""
        value = None if note is None else msgspec.json.encode(note)
        batch = "" if note is None else f" for batch {note.batch}"
        with self._cluster.telling(f"commit what task {task} writes{batch}"):
            producer.begin_transaction()
            try:
                send(producer, records)
                producer.produce(self.topic, value, self._instance.encode(), task)
                _patiently(lambda: producer.commit_transaction(_WITHIN_S))
            except BaseException:
                # Left open it would hold up all who read committed records, until it times out.
                with suppress(client().KafkaException):
                    producer.abort_transaction(_WITHIN_S)
                raise

    def _tasks(self) -> int:
        return self._cluster.topics().get(self.topic, 0)

    def _own(self, task: int) -> list[Note]:
        """The notes of a task that are of this instance."""
        found = self._notes(task, whole=True)
        return [note for note in found if note is not None and note.instance == self._instance]

    def _notes(self, task: int, *, whole: bool) -> list[Note | None]:
        """The notes of a task, or at least the newest; `None` where those of an instance were removed."""
        place = (self.topic, task)
        [begin], [end] = self._cluster.beginnings([place]), self._cluster.ends([place])
        first = begin if whole else max(begin, end - _TAIL)
        while True:
            values = [
                value for batch in self._cluster.read(*place, first, end) for value in batch.column("value").to_pylist()
            ]
            if values or first <= begin:
                return [None if value is None else msgspec.json.decode(value, type=Note) for value in values]
            first = max(begin, end - 10 * (end - first))


def write_at_least_once(cluster: KafkaCluster, records: Iterable[Outgoing]) -> None:
    """Writes records and waits until Kafka has them; a batch that is repeated writes its records again."""
    producer = cluster.producer()
    with cluster.telling("take records"):
        failed = send(producer, records)
        left = producer.flush(_WITHIN_S)
        if failed:
            raise client().KafkaException(failed[0])
        if left:
            message = f"Kafka at {cluster.bootstrap_servers} did not take {left} records within {_WITHIN_S:.0f} s."
            raise TopicError(message)


def send(producer: Any, records: Iterable[Outgoing]) -> list[Any]:
    """Hands records to the client; the list is filled with the errors of those that are not delivered."""
    failed: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failed.append(error)

    for record in records:
        if not record.timestamp_ms:
            message = (
                f"A record for topic {record.topic!r} (key {record.key!r}) has timestamp 0, in place of which Kafka's "
                "C client would write the current time. Give records a timestamp of 1 ms or more."
            )
            raise TopicError(message)
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
    return failed


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
