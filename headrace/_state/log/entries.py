"""The entries of the state log: starts of the application, plans of micro-batches, commits of them.

An entry is a line with format and checksum, then JSON. What an entry says of topics and topology is the caller's
business: here it is plain data.
"""

from __future__ import annotations

import re
import zlib
from typing import Any, NamedTuple

import msgspec

from headrace.errors import StateError

FORMAT = 1
_HEADER = re.compile(rb"headrace-state (\d+) ([0-9a-f]{8})\n")

Counts = dict[str, dict[str, int]]


class Location(NamedTuple):
    """Where a blob lies: the object that holds it, its first byte there, and its length."""

    object: str
    offset: int
    length: int


class ObjectUse(NamedTuple):
    """The size of an object, and how many of its bytes are still needed."""

    size: int
    live: int


class DeadObject(NamedTuple):
    """The size of an object that nothing needs any more, and since when."""

    size: int
    since_ms: int


class BatchPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a micro-batch reads: it is written down before anything of the batch can be seen from outside.

    `ends` are the next offsets after the batch, by topic-partition. `spread` is the number of Spark partitions that
    run it; 0 if one task runs all of it. `step` counts the micro-batches of the Spark query.
    """

    batch: int
    ends: dict[str, int]
    clock_ms: int | None = None
    run: str = ""
    spread: int = 0
    step: int = 0


class Commit(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a micro-batch changed.

    `freed` counts bytes of objects that are no longer needed, `swept` names objects that are deleted after this commit,
    `sessions` are those that wrote the output of each sink task, `output` is what is still to be published. `spread` is
    that of the plan; `record_us` how long one task needed for a record, if one ran the batch.
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


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """A start of the application: from here on only this one may write. `first_batch` is the first one it runs."""

    application_id: str
    instance: str
    first_batch: int
    time_ms: int
    layout: Any = None
    first_offsets: dict[str, int] = {}


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that all entries so far add up to. `output` is that of the last batch, `plan` an unfinished one."""

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

    def after(self, commit: Commit) -> State:
        """The state that a commit leads to."""
        objects = {**self.objects, **commit.objects}
        dead = {name: gone for name, gone in self.dead.items() if name not in commit.swept}
        for name, length in commit.freed.items():
            size, live = objects[name]
            if live > length:
                objects[name] = ObjectUse(size, live - length)
            else:
                del objects[name]
                dead[name] = DeadObject(size, commit.time_ms)
        return State(
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
    """A whole state, with the start that it belongs to: entries before it are not needed."""

    start: Start
    state: State


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of a start, a plan and a commit, by the start number `epoch`. `base` is the state after it, now and then.

    `before` is the checksum of the entry before it: one that does not continue the log is no part of it.
    """

    epoch: int
    nonce: str
    before: int
    start: Start | None = None
    plan: BatchPlan | None = None
    commit: Commit | None = None
    base: Base | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Entry)


def encode(entry: Entry) -> bytes:
    payload = _encoder.encode(entry)
    return b"headrace-state %d %08x\n%b\n" % (FORMAT, zlib.crc32(payload), payload)


def decode(data: bytes, describe: str) -> Entry:
    """The entry of a file's content.

    Raises:
        StateError: if it is damaged or of another format; the message starts with `describe`.
    """
    header = _HEADER.match(data)
    if header is None:
        raise _damaged(describe, "it does not begin as an entry does")
    if int(header[1]) != FORMAT:
        message = (
            f"{describe} has format {int(header[1])}; this version of Headrace reads format {FORMAT}. Run the version "
            "that wrote it, or a later one."
        )
        raise StateError(message)
    payload = data[header.end() : -1]
    if not data.endswith(b"\n"):
        raise _damaged(describe, "its end is missing")
    if zlib.crc32(payload) != int(header[2], 16):
        raise _damaged(describe, "its checksum is wrong")
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise _damaged(describe, str(error)) from error


def _damaged(describe: str, why: str) -> StateError:
    return StateError(
        f"{describe} is damaged: {why}. Restore the state directory from a copy, or start anew with `headrace reset`."
    )


def _sum(counts: Counts, added: Counts) -> Counts:
    summed = dict(counts)
    for operator, counters in added.items():
        mine = dict(summed.get(operator, {}))
        for name, amount in counters.items():
            mine[name] = mine.get(name, 0) + amount
        summed[operator] = mine
    return summed
