"""The entries of the state log: starts of the application, plans and commits of micro-batches.

An entry is a line with format version and checksum, followed by JSON. What it says about topics and the topology is
only stored here; callers interpret it.
"""

from __future__ import annotations

import re
import zlib
from typing import Any, NamedTuple

import msgspec

from headrace._formats import STATE_ENTRY, unknown_format
from headrace.errors import StateError

_HEADER = re.compile(rb"headrace-state (\d+) ([0-9a-f]{8})\n")

Counts = dict[str, dict[str, int]]


class Location(NamedTuple):
    """The location of a blob: the object that holds it, its offset there, and its length."""

    object: str
    offset: int
    length: int


class ObjectUse(NamedTuple):
    """The size of an object, and how many of its bytes are still needed."""

    size: int
    live: int


class DeadObject(NamedTuple):
    """The size of an object that is no longer needed, and the time since when."""

    size: int
    since_ms: int


class BatchPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The input of a micro-batch, written before any output of the batch becomes visible.

    `ends` are the first offsets after the batch, by topic-partition. `clock_ms` is the batch clock; `None` if the
    topology does not need it. `run` is the id of the run that planned the batch. `spread` is the number of Spark
    partitions that process it; 0 if one Spark task processes all of it. `step` is the number of the micro-batch in the
    Spark query. `planned_ms` is the time at which the batch was planned, to measure its duration.
    """

    batch: int
    ends: dict[str, int]
    clock_ms: int | None = None
    run: str = ""
    spread: int = 0
    step: int = 0
    planned_ms: int = 0


class Commit(msgspec.Struct, frozen=True, omit_defaults=True):
    """The changes of a micro-batch.

    `freed` is the number of bytes of each object that are no longer needed. `swept` names the objects that are deleted
    after this commit. `output` is the output on embedded topics, which is published after this commit. `sessions` names
    the Kafka session that wrote the output of each sink task. `spread` is copied from the plan. `record_us` is the time
    per record if one Spark task processed the batch. `records` is the number of input records, `duration_ms` the time
    since the batch was planned.
    """

    batch: int
    time_ms: int
    offsets: dict[str, int]
    clock_ms: int | None = None
    heads: dict[str, Location] = {}
    objects: dict[str, ObjectUse] = {}
    freed: dict[str, int] = {}
    swept: tuple[str, ...] = ()
    counts: Counts = {}
    alarm_ms: int | None = None
    output: Any = None
    sessions: dict[str, str] = {}
    spread: int = 0
    record_us: float = 0.0
    records: int = 0
    duration_ms: int = 0


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """A start of the application: from this entry on, no earlier start can write.

    `first_batch` is the number of the first batch that it processes. `layout` describes its stages and stores.
    `first_offsets` are the offsets at which to begin in those topic-partitions for which no offset is committed yet.
    `patterns` are the patterns of the topics that it reads.
    """

    application_id: str
    instance: str
    first_batch: int
    time_ms: int
    layout: Any = None
    first_offsets: dict[str, int] = {}
    patterns: tuple[str, ...] = ()


class ApplicationState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of the application after all entries so far.

    `output` is the output of the last batch; `plan` is the plan of a batch that is not committed yet.
    """

    batch: int = -1
    offsets: dict[str, int] = {}
    clock_ms: int | None = None
    heads: dict[str, Location] = {}
    objects: dict[str, ObjectUse] = {}
    dead: dict[str, DeadObject] = {}
    counts: Counts = {}
    alarm_ms: int | None = None
    output: Any = None
    sessions: dict[str, str] = {}
    spread: int = 0
    record_us: float = 0.0
    plan: BatchPlan | None = None

    def after(self, commit: Commit) -> ApplicationState:
        """The state after a commit."""
        objects = {**self.objects, **commit.objects}
        dead = {name: use for name, use in self.dead.items() if name not in commit.swept}
        for name, length in commit.freed.items():
            size, live = objects[name]
            if live > length:
                objects[name] = ObjectUse(size, live - length)
            else:
                del objects[name]
                dead[name] = DeadObject(size, commit.time_ms)
        return ApplicationState(
            commit.batch,
            {**self.offsets, **commit.offsets},
            commit.clock_ms,
            {**self.heads, **commit.heads},
            objects,
            dead,
            _sum(self.counts, commit.counts),
            commit.alarm_ms,
            commit.output,
            {**self.sessions, **commit.sessions},
            commit.spread,
            commit.record_us or self.record_us,
        )


class Base(msgspec.Struct, frozen=True):
    """The complete state, and the current start. A reader of an entry with a base needs no earlier entries."""

    start: Start
    state: ApplicationState


class LogEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry: a start, a plan or a commit, written by the start with the number `epoch`.

    Some entries also have, in `base`, the complete state after them. `before` is the checksum of the previous entry. If
    it does not match, a superseded process wrote the entry, and readers ignore it.
    """

    epoch: int
    nonce: str
    before: int
    start: Start | None = None
    plan: BatchPlan | None = None
    commit: Commit | None = None
    base: Base | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(LogEntry)


def encode(entry: LogEntry) -> bytes:
    payload = _encoder.encode(entry)
    return b"headrace-state %d %08x\n%b\n" % (STATE_ENTRY, zlib.crc32(payload), payload)


def decode(data: bytes, describe: str) -> LogEntry:
    """Decodes the content of an entry's file.

    Raises:
        StateError: if the entry is damaged or of another format; the message starts with `describe`.
    """
    header = _HEADER.match(data)
    if header is None:
        raise _damage_error(describe, "it does not start like an entry")
    if int(header[1]) != STATE_ENTRY:
        raise StateError(unknown_format(describe, int(header[1]), STATE_ENTRY))
    payload = data[header.end() : -1]
    if not data.endswith(b"\n"):
        raise _damage_error(describe, "its end is missing")
    if zlib.crc32(payload) != int(header[2], 16):
        raise _damage_error(describe, "its checksum is wrong")
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise _damage_error(describe, str(error)) from error


def _damage_error(describe: str, why: str) -> StateError:
    return StateError(
        f"{describe} is damaged: {why}. Restore the state directory from a copy, or start over with `headrace reset`."
    )


def _sum(counts: Counts, added: Counts) -> Counts:
    summed = dict(counts)
    for operator, counters in added.items():
        mine = dict(summed.get(operator, {}))
        for name, amount in counters.items():
            mine[name] = mine.get(name, 0) + amount
        summed[operator] = mine
    return summed
