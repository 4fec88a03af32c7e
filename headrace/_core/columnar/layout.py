"""What is known of the batches that reach an operator, of the task around it, and of where functions fail in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace._core.columnar.batch import Batch
from headrace.model.windows import TimeWindows
from headrace.serdes import Json, Serde

Form = Callable[[Batch], None]


class HasValue(Serde[Any]):
    """Only whether there is a value: all that is asked of those that are counted."""

    def _to_bytes(self, value: Any) -> bytes:  # noqa: ARG002
        return b""


class TaskStores(NamedTuple):
    """What a task keeps: its stores, and the rows of tables that are looked up, by name.

    Where an error handler may drop single records, no form `calls` functions of the user's: a batch form drops none.
    """

    stores: Mapping[str, Any]
    tables: Mapping[str, Any]
    calls: bool = True


class Reached:
    """What ways from a source have reached: where two of them meet, records interleave, which batches cannot do."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def first(self, name: str) -> bool:
        """Whether something is reached for the first time."""
        is_first = name not in self._names
        self._names.add(name)
        return is_first


class Layout(NamedTuple):
    """The serdes whose bytes a batch holds; `tumbling` if they are counts in such windows.

    Bytes `as_written` by their serdes need not be canonical: writing them again would give the same bytes, though
    reading them may not give the value that was written.
    """

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    tumbling: TimeWindows | None = None
    as_written: bool = False


def kept_as_they_came(serde: Serde[Any]) -> bool:
    """Whether values may be stored by the bytes they came in: read again they are as if they had been written anew."""
    return serde.canonical or (type(serde) is Json and serde.repeatable)


class Cursor:
    """The row of the batch that the current record was made of, and the timestamp that it has come to have."""

    __slots__ = ("row", "timestamp_ms")

    def __init__(self) -> None:
        self.row = 0
        self.timestamp_ms = 0


class UndecodableError(Exception):
    """Records of a batch cannot be decoded; nothing has been done with any of them."""


class RowError(Exception):
    """A user function raised `cause`, on the record at a position of the task's input."""

    def __init__(self, cause: Exception, position: int) -> None:
        super().__init__(position)
        self.cause = cause
        self.position = position
