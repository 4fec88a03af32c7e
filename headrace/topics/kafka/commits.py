"""Exactly-once output to Kafka: one transaction holds what a task writes for a batch, and a note that it did.

The notes are records of a compacted topic, `<application_id>-headrace-commits`, with one partition per task. Unlike the
offsets of a consumer group they do not expire. A start of the application takes over all tasks: it aborts transactions
that an earlier start left open, and writes notes of its own. An earlier start that still runs reads them and stops.

Kafka may lose the end of a transaction (`undecided.py`). So a start that takes over, and a write that is repeated, wait
until all records in the output are committed or aborted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain, count
from typing import NamedTuple

import msgspec

from headrace._formats import COMMIT_NOTE, unknown_format
from headrace.errors import StateError
from headrace.topics.kafka.client import ANSWER_WITHIN_S, client, is_refusal, is_transaction_lost
from headrace.topics.kafka.cluster import KafkaCluster, Place, find_leaders, max_batch_bytes
from headrace.topics.kafka.rules import OutgoingRecord, TopicRules
from headrace.topics.kafka.send import SEND_WITHIN_S, OutgoingBatch, Sender
from headrace.topics.kafka.undecided import await_decided

# Names of topics with notes end with this.
NOTES_SUFFIX = "-headrace-commits"
_YIELD_S = 3.0
_NEWEST_OFFSETS = 20
_THREADS = 16
_COMMITS_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}


def commits_topic(application_id: str) -> str:
    """The topic with the notes of an application."""
    return f"{application_id}{NOTES_SUFFIX}"


class Note(msgspec.Struct, frozen=True):
    """Says which start committed a task's transaction, and the last batch it has written; -1 before the first."""

    instance: str
    start: int
    batch: int
    format: int = COMMIT_NOTE


class Outcome(NamedTuple):
    """The result of a write: whether this call wrote the records, not an earlier one, and the name of the session."""

    written: bool
    session: str


class _Session:
    """A producer that owns a task's transactional id, and the last batch known to be written."""

    def __init__(self, sender: Sender, max_bytes: int, batch: int) -> None:
        self.name = os.urandom(8).hex()
        self.sender = sender
        self.max_bytes = max_bytes
        self.batch = batch


# Sessions of this process, kept between batches because opening one takes several round trips.
_sessions: dict[tuple[str, int, int], _Session] = {}


class Commits:
    """The transactions of an application, in one start of one instance (state directory).

    `outputs` returns the number of partitions of each topic that the application writes.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        application_id: str,
        instance: str,
        start: int,
        outputs: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._cluster = cluster
        self._application_id = application_id
        self._instance = instance
        self._start = start
        self._outputs = outputs
        self.topic = commits_topic(application_id)

    def take_over(self, tasks: int) -> None:
        """Begins a start of the application: from here on, nothing that an earlier start writes becomes visible.

        Raises:
            StateError: if the application was started again since.
            TopicError: if the output has records that stay undecided.
        """
        # Earlier starts may have had more tasks than this one.
        all_tasks = self._cluster.ensure(self.topic, tasks, _COMMITS_SETTINGS)
        self._for_all_tasks(all_tasks, "begin its transactions", self._take_over)
        self._await_decided(self._output_places())

    def await_visible(self) -> None:
        """Waits until all committed records are visible: Kafka acknowledges a transaction before it is complete."""
        self._for_all_tasks(self._tasks(), "complete its transactions", self._open_sender)

    def last_batch(self) -> int | None:
        """The newest batch of which any task has written its part; `None` before the first."""
        notes = [note for task in range(self._tasks()) for note in self._own_notes(task)]
        return max((note.batch for note in notes if note.batch >= 0), default=None)

    def has_notes(self) -> bool:
        """Whether the topic has notes of this instance."""
        return any(self._own_notes(task) for task in range(self._tasks()))

    def delete_notes(self) -> None:
        """Deletes the notes of this instance; a start that still runs is fenced."""
        self._for_all_tasks(
            self._tasks(),
            "delete the notes of an application",
            lambda task: self._commit(self._open_sender(task), task, [], None),
        )

    def _for_all_tasks(self, tasks: int, doing: str, act: Callable[[int], object]) -> None:
        with ThreadPoolExecutor(min(tasks, _THREADS)) as threads:
            list(threads.map(lambda task: self._cluster.retry(doing, partial(act, task)), range(tasks)))

    def write(
        self,
        task: int,
        batch: int,
        records: Callable[[], Iterable[OutgoingBatch]],
        rules: Iterable[TopicRules] = (),
        *,
        last_session: str | None = None,
        repeated: bool = False,
    ) -> Outcome:
        """Writes a task's output of a batch in one transaction, unless it is already written.

        If Kafka does not answer, the transaction may or may not be committed. Then the write is retried with a new
        producer, which fences the old one: the newest note says whether the output is already written, and whether a
        newer start has taken over.

        `last_session` is the session that wrote for this task last. If this process has it, notes need not be read: had
        another session written since, this one would be fenced.

        `repeated` says that an earlier attempt of this start may have begun a transaction and not completed it.

        Raises:
            StateError: if the application was started again since.
            TopicError: if Kafka refuses a record, or if an earlier attempt's records stay undecided; then nothing is
                written.
        """
        doing = f"commit the output of batch {batch}, task {task}"
        rules, attempts = tuple(rules), count(int(repeated))
        return self._cluster.retry(
            doing, lambda: self._write(task, batch, records, rules, last_session, repeated=next(attempts) > 0)
        )

    def _write(
        self,
        task: int,
        batch: int,
        records: Callable[[], Iterable[OutgoingBatch]],
        rules: tuple[TopicRules, ...],
        last_session: str | None,
        *,
        repeated: bool,
    ) -> Outcome:
        owner = (self._instance, self._start, task)
        session = _sessions.pop(owner, None)
        max_bytes = max_batch_bytes(rules)
        if session is None or session.name != last_session or session.max_bytes != max_bytes:
            sender = self._open_sender(task, rules)
            if repeated:
                self._await_decided([(self.topic, task)])
            session = _Session(sender, max_bytes, self._newest_note(task).batch)
            if repeated:
                self._await_decided(self._output_places())
        if session.batch < batch:
            try:
                self._commit(session.sender, task, records(), Note(self._instance, self._start, batch))
            except client().KafkaException as failure:
                if is_transaction_lost(failure.args[0]):
                    # A newer start may be taking over. A retry at once would fence it before it has written its note,
                    # so give it time, then read the note.
                    time.sleep(_YIELD_S)
                    self._newest_note(task)
                raise
            written, session.batch = True, batch
        else:
            written = False
        for other in [other for other in _sessions if other[0] == self._instance and other[1] < self._start]:
            del _sessions[other]
        _sessions[owner] = session
        return Outcome(written, session.name)

    def _newest_note(self, task: int) -> Note:
        newest = self._notes(task, whole=False)[-1]
        if newest is None:
            message = (
                f"Application {self._application_id!r} was reset at Kafka {self._cluster.bootstrap_servers}: this "
                "start ends without writing."
            )
            raise StateError(message)
        if (newest.instance, newest.start) != (self._instance, self._start):
            raise self._superseded_error(newest)
        return newest

    def _take_over(self, task: int) -> None:
        sender = self._open_sender(task)
        self._await_decided([(self.topic, task)])
        own = self._own_notes(task)
        if own and own[-1].start > self._start:
            raise self._superseded_error(own[-1])
        self._commit(sender, task, [], Note(self._instance, self._start, own[-1].batch if own else -1))

    def _output_places(self) -> list[Place]:
        return [(topic, partition) for topic, partitions in self._outputs().items() for partition in range(partitions)]

    def _await_decided(self, places: Sequence[Place]) -> None:
        await_decided(self._cluster, places)

    def _superseded_error(self, newest: Note) -> StateError:
        return StateError(
            f"Application {self._application_id!r} was started again at Kafka {self._cluster.bootstrap_servers} "
            f"(start {newest.start}; this is start {self._start}): the newer start continues, this one ends without "
            "writing."
        )

    def _open_sender(self, task: int, rules: Iterable[TopicRules] = ()) -> Sender:
        """Opens the producer of a task. Kafka fences earlier ones and aborts their transactions."""
        sender = Sender(self._cluster, rules, **{"transactional.id": f"{self._application_id}-{task}"})
        find_leaders(sender.producer, [self.topic])
        sender.producer.init_transactions(min(SEND_WITHIN_S, self._cluster.retry_timeout_s))
        return sender

    def _commit(self, sender: Sender, task: int, records: Iterable[OutgoingBatch], note: Note | None) -> None:
        """Writes records and their note in one transaction; a note of `None` deletes the notes of this instance."""
        value, now_ms = None if note is None else msgspec.json.encode(note), time.time_ns() // 1_000_000
        note_batch = OutgoingBatch.of(OutgoingRecord(self.topic, task, self._instance.encode(), value, now_ms, ()))
        producer = sender.producer
        producer.begin_transaction()
        try:
            sender.send(chain(records, [note_batch]))
            producer.commit_transaction()
        except BaseException as failure:
            refused = [failed for failed in sender.failed if is_refusal(failed[0])]
            # An open transaction would block all readers of committed records until it times out.
            with suppress(client().KafkaException):
                producer.abort_transaction(ANSWER_WITHIN_S)
            if refused:
                raise self._cluster.delivery_error(*refused[0], f"commit the output of task {task}") from failure
            raise

    def _tasks(self) -> int:
        return self._cluster.topics().get(self.topic, 0)

    def _own_notes(self, task: int) -> list[Note]:
        """The notes that this instance has written for a task."""
        notes = self._notes(task, whole=True)
        return [note for note in notes if note is not None and note.instance == self._instance]

    def _notes(self, task: int, *, whole: bool) -> list[Note | None]:
        """Reads the notes of a task, the newest last: all of them or, without `whole`, only some of the newest.

        `None` stands for a deleted note.
        """
        place = (self.topic, task)
        [begin], [end] = self._cluster.begin_offsets([place]), self._cluster.end_offsets([place])
        first = begin if whole else max(begin, end - _NEWEST_OFFSETS)
        while True:
            values = [
                value for batch in self._cluster.read(*place, first, end) for value in batch.column("value").to_pylist()
            ]
            if values or first <= begin:
                return [None if value is None else self._decode(value) for value in values]
            first = max(begin, end - 10 * (end - first))

    def _decode(self, value: bytes) -> Note:
        note = msgspec.json.decode(value, type=Note)
        if note.format > COMMIT_NOTE:
            raise StateError(unknown_format(f"A note in topic {self.topic!r}", note.format, COMMIT_NOTE))
        return note
