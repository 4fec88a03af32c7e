"""Rules of Kafka Streams that the library is made to follow, one by one, to explain a difference.

Each replaces a method of an operator for the time of one run; see `classify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from conformance.fuzz import one_task, their_aggregations
from headrace._core.operators.aggregations.streams import StreamAggregate
from headrace._core.operators.foreign_keys.messages import Instruction
from headrace._core.operators.foreign_keys.tables import ForeignKeyReceive, ForeignKeySubscribe
from headrace._core.operators.processors.lifecycle import Processors
from headrace._core.operators.windows.own_windows import OwnWindowAggregate
from headrace._core.operators.windows.sliding_windows import _Update
from headrace._core.operators.windows.suppress import TableSuppress
from headrace._core.operators.windows.time_windows import TimeWindowAggregate
from headrace._core.operators.windows.windowed_operator import WindowedOperator
from headrace._core.task.decoding import Decoder
from headrace._runtime.local import LocalRuntime
from headrace._state.bytes.composite import (
    HISTORY,
    LATEST,
    TIME_SIZE,
    descending_time_at,
    escape_key,
    time_at,
    time_bytes,
)
from headrace._state.stores.versioned import NEWEST, TypedVersionedStore
from headrace.model.record import Change, Record

_buffer = TableSuppress.process
_put_version = TypedVersionedStore.write


@contextmanager
def following(*rules: str) -> Iterator[None]:
    """Makes operators that are created inside the block follow the named rules."""
    with ExitStack() as replaced:
        for rule in rules:
            for operator, method, function in _REPLACED[rule]:
                replaced.enter_context(patch.object(operator, method, function))
        yield


def _process(self: Any, record: Any) -> None:
    """Notes what each update replaces upstream."""
    self.__dict__.setdefault("replaced", {})[record.key] = record.value.old
    _buffer(self, record)


def _emit(self: Any, row: Any) -> None:
    """The old value of a result is what its last update replaced upstream, whether or not that was emitted."""
    if row.value is not None or not self.settings.until_window_closes:
        self.forward(Record(row.key, Change(row.value, self.replaced[row.key]), row.timestamp_ms, row.headers))


def _inner(self: Any, _: bytes, new: Any, old_foreign: Any, new_foreign: Any) -> list[tuple[Any, Instruction]]:
    """Forgets that an earlier change by the same input record has yet to delete the result."""
    if new is not None and new_foreign is None:
        self.context.drop(self.name, "null foreign key")
    if old_foreign is None:
        return [] if new_foreign is None else [(new_foreign, Instruction.ANSWER_IF_MATCHED)]
    if new_foreign is None:
        return [(old_foreign, Instruction.DELETE_RESULT)]
    if self._same_key(old_foreign, new_foreign):
        return [(new_foreign, Instruction.ANSWER_IF_MATCHED)]
    return [(old_foreign, Instruction.DELETE_SILENTLY), (new_foreign, Instruction.ANSWER)]


def _receive(self: Any, record: Any) -> None:
    """Forgets that the same input record deleted the foreign row."""
    subscription = record.value
    foreign = self._foreign_to_bytes(record.key)
    if foreign is not None:
        is_kept = subscription.instruction in (Instruction.ANSWER_IF_MATCHED, Instruction.ANSWER)
        self._subscriptions.put(escape_key(foreign) + subscription.key, subscription.value if is_kept else None)
    if subscription.instruction is not Instruction.DELETE_SILENTLY:
        self.forward(record)


def _write(self: Any, key_bytes: bytes, value: Any, timestamp_ms: int) -> int:
    """Forgets a deletion with the timestamp of the key's latest version, if there was no row just before that.

    In Kafka Streams only the end of the version before tells of such a deletion, and a deletion that was itself the
    latest version has no end.
    """
    contents, endless = self.contents, self.__dict__.setdefault("endless", set())
    latest = contents.get(LATEST + key_bytes)
    valid_to_ms = _put_version(self, key_bytes, value, timestamp_ms)
    if value is not None or valid_to_ms != NEWEST or (key_bytes, timestamp_ms) in endless:
        return valid_to_ms
    if latest is None or time_at(latest, 0) < timestamp_ms:
        endless.add((key_bytes, timestamp_ms))
        return valid_to_ms
    entry_key, _ = next(contents.prefix(HISTORY + escape_key(key_bytes)), (None, None))
    if entry_key is None:
        contents.delete(LATEST + key_bytes)
    elif (key_bytes, before_ms := descending_time_at(entry_key, -TIME_SIZE)) in endless:
        contents.delete(entry_key)
        contents.put(LATEST + key_bytes, time_bytes(before_ms))
    return valid_to_ms


_REPLACED: dict[str, tuple[tuple[type, str, Callable[..., Any]], ...]] = {
    "suppress-sends-what-its-last-update-replaced": (
        (TableSuppress, "process", _process),
        (TableSuppress, "_emit", _emit),
    ),
    "deletions-by-foreign-key-may-be-lost": (
        (ForeignKeySubscribe, "_inner", _inner),
        (ForeignKeyReceive, "process", _receive),
    ),
    "deletions-of-first-versions-are-forgotten": ((TypedVersionedStore, "write", _write),),
    "first-change-replaces-the-initial-value": (
        (StreamAggregate, "process", their_aggregations.aggregate),
        (TimeWindowAggregate, "_emit", their_aggregations.emit_update),
        (OwnWindowAggregate, "_emit", their_aggregations.emit_update),
        (_Update, "fold", their_aggregations.fold_sliding),
    ),
    "final-results-are-read-after-the-record-is-stored": (
        (WindowedOperator, "init", their_aggregations.init_windowed),
        (WindowedOperator, "process", their_aggregations.process_windowed),
        (WindowedOperator, "_emit_closed", their_aggregations.note_closed),
    ),
    "sub-topologies-are-one-task": (
        (LocalRuntime, "_process", one_task.process),
        (Decoder, "with_extracted_times", one_task.extract_times),
        (Processors, "advance", one_task.do_nothing),
        (Processors, "punctuate", one_task.do_nothing),
    ),
}
