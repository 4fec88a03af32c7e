"""The entries of the commit log."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Generic

import msgspec

from headrace._formats import TOPICS_SNAPSHOT, unknown_format
from headrace.errors import TopicError
from headrace.model.type_variables import TypeVar
from headrace.topics.embedded.segments import UNKNOWN_MS, SegmentRun
from headrace.topics.policy import TopicPolicy


class SegmentRunSummary(msgspec.Struct, frozen=True, gc=False):
    """The fields of a `SegmentRun` that the catalog needs: decoding only these of a commit takes half the time."""

    topic: str
    partition: int
    rows: int
    file: str
    size: int = 0
    newest_ms: int = UNKNOWN_MS


# The runs of an entry: complete (`SegmentRun`), or with the fields that the catalog needs (`SegmentRunSummary`).
RunT = TypeVar("RunT", bound=SegmentRun | SegmentRunSummary, default=SegmentRun)


class ConsolidatedRun(msgspec.Struct, Generic[RunT], frozen=True, gc=False):
    """The records of a partition from offset `first` to `end` (exclusive), which now are in another data file.

    `run` says where in the file they are. In an entry of the log it replaces the runs that had these offsets before; in
    a snapshot of the log it is one of the runs that are still read.
    """

    first: int
    end: int
    run: RunT


class TopicCommit(msgspec.Struct, Generic[RunT], frozen=True, omit_defaults=True):
    """One entry of the commit log. Everything in it becomes visible at once.

    `create` has the number of partitions of each new topic. `runs` are appended to their partitions. `consolidated`
    runs replace runs of earlier entries at the same offsets; if the entry `compacts`, they have only the last record of
    each key. `level` is 0 for new records, one more than before for consolidated ones, and 1 for compacted ones; an
    entry of a snapshot has the level of the commit that it stands for. `begin` has the new first offset of each
    partition of a topic: the records before it are deleted. `policies` say when to delete records.
    """

    format: int
    producer: str | None = None
    batch: int | None = None
    create: dict[str, int] = {}
    runs: tuple[RunT, ...] = ()
    consolidated: tuple[ConsolidatedRun[RunT], ...] = ()
    level: int = 0
    compacts: bool = False
    begin: dict[str, list[int]] = {}
    policies: dict[str, TopicPolicy] = {}

    def runs_at(self, topic: str, partition: int, first: int) -> tuple[RunT, ...]:
        """The runs of this entry that hold the records of a partition beginning at offset `first`."""
        consolidated = [moved.run for moved in self.consolidated if moved.first == first]
        return tuple(run for run in (*self.runs, *consolidated) if run.topic == topic and run.partition == partition)


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(TopicCommit[SegmentRun]).decode
_decode_summary = msgspec.json.Decoder(TopicCommit[SegmentRunSummary]).decode


class _Numbered(msgspec.Struct):
    format: int


_decode_number = msgspec.json.Decoder(_Numbered).decode


def decode_summary(payload: bytes, directory: Path) -> TopicCommit[SegmentRunSummary]:
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
