"""What a batch form knows when it is built: the batches it will get and the task's stores; and how a batch fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace._core.columnar.batch import Batch
from headrace.model.windows import TimeWindows
from headrace.serdes import Json, Serde

Form = Callable[[Batch], None]


class HasValue(Serde[Any]):
    """Encodes only whether there is a value, which is all that counting needs to know."""

    def _to_bytes(self, value: Any) -> bytes:  # noqa: ARG002
        return b""


class TaskStores(NamedTuple):
    """The stores of a task, and the rows of the tables that its joins look up, by name.

    `allow_functions` is off if an error handler may drop single records: a batch form that calls user functions cannot
    go on after one of them raised.
    """

    stores: Mapping[str, Any]
    tables: Mapping[str, Any]
    allow_functions: bool = True


class Layout(NamedTuple):
    """The serdes whose bytes a batch holds; `tumbling` has the windows if they are counts in tumbling windows.

    Bytes `as_written` come straight from these serdes. A sink with the same serdes may write them again even if they
    are not canonical, that is if decoding and encoding would not give the same bytes. With `last_only` they are the
    last updates of rows, from the record cache.
    """

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    tumbling: TimeWindows | None = None
    as_written: bool = False
    last_only: bool = False


def can_store_input_bytes(serde: Serde[Any]) -> bool:
    """Whether a store may hold values in their input bytes: decoded later, they equal what the serde itself encodes."""
    return serde.canonical or (type(serde) is Json and serde.repeatable)


class Cursor:
    """The row of the batch whose functions are running, and the timestamp of the record they work on.

    An aggregation among the functions changes the timestamp for those after it.
    """

    __slots__ = ("row", "timestamp_ms")

    def __init__(self) -> None:
        self.row = 0
        self.timestamp_ms = 0


class UndecodableError(Exception):
    """A batch has records that cannot be decoded; none of its records has been processed."""


class RowError(Exception):
    """A user function raised `cause` for the record at a position of the task's input."""

    def __init__(self, cause: BaseException, position: int) -> None:
        super().__init__(position)
        self.cause = cause
        self.position = position
