"""Exactly once into Kafka: what a task writes for a batch, and the note that it did, are one transaction.

The notes are records of a compacted topic, `<application_id>-headrace-commits`, one partition for each task. Unlike
offsets of a consumer group they do not expire. A start of the application takes over all tasks: it ends what an earlier
start left open, and leaves a note by which an earlier start that still runs sees that it is no longer in charge.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import NamedTuple

import msgspec

from headrace.errors import StateError
from headrace.topics.kafka.client import ANSWER_WITHIN_S, client, lost, refuses
from headrace.topics.kafka.cluster import KafkaCluster, find_leaders
from headrace.topics.kafka.rules import OutgoingRecord, TopicRules
from headrace.topics.kafka.send import SEND_WITHIN_S, Outgoing, Sender

_GIVE_WAY_S = 3.0
_TAIL = 20
_AT_A_TIME = 16
_COMMITS_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}


class Note(msgspec.Struct, frozen=True):
    """What the newest transaction of a task says: whose it was, and the last batch that is written."""

    instance: str
    start: int
    batch: int


class Outcome(NamedTuple):
    """Whether a task's part of a batch was written now, not before, and the session that has its transactions."""

    written: bool
    session: str


class _Session:
    """A producer that has a task's transactions, and the last batch that it knows to be written."""

    def __init__(self, sender: Sender, rules: tuple[TopicRules, ...], batch: int) -> None:
        self.name = os.urandom(8).hex()
        self.sender = sender
        self.rules = rules
        self.batch = batch


# Those of this process, which is used for many batches: beginning one takes several round trips.
_sessions: dict[tuple[str, int, int], _Session] = {}


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
        # Earlier starts may have had more tasks than this one.
        ever = self._cluster.ensure(self.topic, tasks, _COMMITS_SETTINGS)
        self._of_all(ever, "begin its transactions", self._take_over)

    def settle(self) -> None:
        """Waits until all that was committed is to be seen: Kafka completes a transaction after it says so."""
        self._of_all(self._tasks(), "complete its transactions", self._begun)

    def last_batch(self) -> int | None:
        """The newest batch of which anything is written, `None` before the first."""
        notes = [note for task in range(self._tasks()) for note in self._own(task)]
        return max((note.batch for note in notes if note.batch >= 0), default=None)

    def noted(self) -> bool:
        """Whether the topic has notes of this instance."""
        return any(self._own(task) for task in range(self._tasks()))

    def forget(self) -> None:
        """Removes the notes of this instance; a start that still runs can write no more."""
        self._of_all(
            self._tasks(), "forget what it wrote", lambda task: self._commit(self._begun(task), task, [], None)
        )

    def _of_all(self, tasks: int, doing: str, act: Callable[[int], object]) -> None:
        with ThreadPoolExecutor(min(tasks, _AT_A_TIME)) as threads:
            list(threads.map(lambda task: self._cluster.patiently(doing, partial(act, task)), range(tasks)))

    def write(
        self,
        task: int,
        batch: int,
        records: Callable[[], Iterable[Outgoing]],
        rules: Iterable[TopicRules] = (),
        *,
        last_session: str | None = None,
    ) -> Outcome:
        """Writes what a task has for a batch, unless it has done so before.

        When Kafka does not answer nobody knows whether the transaction is complete. It is begun anew then: the newest
        note says whether there is still something to write, and whether this start is still the one to do it.

        `last_session` is the session that wrote for this task last. If this process has it, it goes on: nobody else can
        have written since, or it would find its transactions taken.

        Raises:
            StateError: if the application was started again since.
            TopicError: if Kafka refuses a record; then nothing is written.
        """
        doing = f"commit the output of batch {batch}, task {task}"
        rules = tuple(rules)
        return self._cluster.patiently(doing, lambda: self._write(task, batch, records, rules, last_session))

    def _write(
        self,
        task: int,
        batch: int,
        records: Callable[[], Iterable[Outgoing]],
        rules: tuple[TopicRules, ...],
        last_session: str | None,
    ) -> Outcome:
        owner = (self._instance, self._start, task)
        session = _sessions.pop(owner, None)
        if session is None or session.name != last_session or session.rules != rules:
            session = _Session(self._begun(task, rules), rules, self._newest(task).batch)
        if session.batch < batch:
            try:
                self._commit(session.sender, task, records(), Note(self._instance, self._start, batch))
            except client().KafkaException as failure:
                if lost(failure.args[0]):
                    # Perhaps to one that takes over: beginning anew at once would take it back before a note is left.
                    time.sleep(_GIVE_WAY_S)
                    self._newest(task)
                raise
            written, session.batch = True, batch
        else:
            written = False
        for other in [other for other in _sessions if other[0] == self._instance and other[1] < self._start]:
            del _sessions[other]
        _sessions[owner] = session
        return Outcome(written, session.name)

    def _newest(self, task: int) -> Note:
        newest = self._notes(task, whole=False)[-1]
        if newest is None:
            message = (
                f"Application {self._application_id!r} was reset at Kafka {self._cluster.bootstrap_servers}: this "
                "start ends without writing."
            )
            raise StateError(message)
        if (newest.instance, newest.start) != (self._instance, self._start):
            raise self._superseded(newest)
        return newest

    def _take_over(self, task: int) -> None:
        sender = self._begun(task)
        own = self._own(task)
        if own and own[-1].start > self._start:
            raise self._superseded(own[-1])
        self._commit(sender, task, [], Note(self._instance, self._start, own[-1].batch if own else -1))

    def _superseded(self, newest: Note) -> StateError:
        return StateError(
            f"Application {self._application_id!r} was started again at Kafka {self._cluster.bootstrap_servers} "
            f"(start {newest.start}; this is start {self._start}): the newer one goes on, this one ends without "
            "writing."
        )

    def _begun(self, task: int, rules: Iterable[TopicRules] = ()) -> Sender:
        """The only one that sends for its task: others lose the right to write, their transactions end."""
        sender = Sender(self._cluster, rules, **{"transactional.id": f"{self._application_id}-{task}"})
        find_leaders(sender.producer, [self.topic])
        sender.producer.init_transactions(min(SEND_WITHIN_S, self._cluster.patience_s))
        return sender

    def _commit(self, sender: Sender, task: int, records: Iterable[Outgoing], note: Note | None) -> None:
        """Writes records and the note that stands for them in one transaction; `None` removes the earlier notes."""
        value, now_ms = None if note is None else msgspec.json.encode(note), time.time_ns() // 1_000_000
        told = Outgoing.of(OutgoingRecord(self.topic, task, self._instance.encode(), value, now_ms, ()))
        producer = sender.producer
        producer.begin_transaction()
        try:
            sender.send(chain(records, [told]))
            producer.commit_transaction()
        except BaseException as failure:
            refused = [failed for failed in sender.failed if refuses(failed[0])]
            # Left open it would hold up all who read committed records, until it times out.
            with suppress(client().KafkaException):
                producer.abort_transaction(ANSWER_WITHIN_S)
            if refused:
                raise self._cluster.undelivered(*refused[0], f"commit the output of task {task}") from failure
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
