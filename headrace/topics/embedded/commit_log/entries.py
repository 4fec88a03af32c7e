"""The entries of the commit log."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from headrace._formats import TOPICS_SNAPSHOT, unknown_format
from headrace.errors import TopicError
from headrace.topics.embedded.segments import UNKNOWN_MS, SegmentRun
from headrace.topics.policy import TopicPolicy


class ConsolidatedRun(msgspec.Struct, frozen=True, gc=False):
    """A segment run whose records have the offsets `first` to `end`, exclusive.

    It replaces earlier runs at these offsets, or it is part of a snapshot.
    """

    first: int
    end: int
    run: SegmentRun


class TopicCommit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the commit log. Everything in it becomes visible at once.

    `create` has the number of partitions of each new topic. `runs` are appended to their partitions. `consolidated`
    runs replace runs of earlier entries at the same offsets; if the entry `compacts`, they have only the last record of
    each key. `level` is 0 for new records, and one more than before for consolidated ones. `begin` has the new first
    offset of each partition of a topic: the records before it are deleted. `policies` say when to delete records.
    """

    format: int
    producer: str | None = None
    batch: int | None = None
    create: dict[str, int] = {}
    runs: tuple[SegmentRun, ...] = ()
    consolidated: tuple[ConsolidatedRun, ...] = ()
    level: int = 0
    compacts: bool = False
    begin: dict[str, list[int]] = {}
    policies: dict[str, TopicPolicy] = {}

    def runs_at(self, topic: str, partition: int, first: int) -> tuple[SegmentRun, ...]:
        """The runs of this entry that hold the records of a partition beginning at offset `first`."""
        consolidated = [moved.run for moved in self.consolidated if moved.first == first]
        return tuple(run for run in (*self.runs, *consolidated) if run.topic == topic and run.partition == partition)


class SegmentRunSummary(msgspec.Struct, frozen=True, gc=False):
    """The fields of a `SegmentRun` that the catalog needs."""

    topic: str
    partition: int
    rows: int
    file: str
    size: int = 0
    newest_ms: int = UNKNOWN_MS


class ConsolidatedRunSummary(msgspec.Struct, frozen=True, gc=False):
    """The fields of a `ConsolidatedRun` that the catalog needs."""

    first: int
    end: int
    run: SegmentRunSummary


class TopicCommitSummary(msgspec.Struct, frozen=True):
    """The fields of a `TopicCommit` that the catalog needs: decoding only these takes half the time."""

    format: int
    producer: str | None = None
    batch: int | None = None
    create: dict[str, int] = {}
    runs: tuple[SegmentRunSummary, ...] = ()
    consolidated: tuple[ConsolidatedRunSummary, ...] = ()
    level: int = 0
    compacts: bool = False
    begin: dict[str, list[int]] = {}
    policies: dict[str, TopicPolicy] = {}


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(TopicCommit).decode
_decode_summary = msgspec.json.Decoder(TopicCommitSummary).decode


class _Numbered(msgspec.Struct):
    format: int


_decode_number = msgspec.json.Decoder(_Numbered).decode


def decode_summary(payload: bytes, directory: Path) -> TopicCommitSummary:
    """Decodes an entry of the commit log, but only the fields that the catalog needs.

    Raises:
        TopicError: if a newer version of Headrace wrote it, or it cannot be decoded.
    """
    try:
        commit = _decode_summary(payload)
    except msgspec.MsgspecError as error:
        with suppress(msgspec.MsgspecError):
            _check_format(_decode_number(payload).format, directory)
        message = f"The topics in {str(directory)!r} contain a commit that this version cannot read: {error}"
        raise TopicError(message) from error
    _check_format(commit.format, directory)
    return commit


def _check_format(number: int, directory: Path) -> None:
    if number > TOPICS_SNAPSHOT:
        raise TopicError(unknown_format(f"A commit to the topics in {str(directory)!r}", number, TOPICS_SNAPSHOT))
