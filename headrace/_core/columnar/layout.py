"""What a batch form is built from: what its batches contain, and the task's stores. Also the errors that it raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace._core.columnar.batch import Batch
from headrace.model.time.windows import TimeWindows
from headrace.serdes import Json, Serde

Form = Callable[[Batch], None]


class HasValue(Serde[Any]):
    """Encodes only whether there is a value, which is all that counting needs to know."""

    def _to_bytes(self, value: Any) -> bytes:  # noqa: ARG002
        return b""


class TaskStores(NamedTuple):
    """The stores of a task, and the rows of the tables that its joins look up, by name.

    `allow_functions` is false if an error handler may drop single records: a batch form that calls user functions
    cannot continue after one of them has raised an error.
    """

    stores: Mapping[str, Any]
    tables: Mapping[str, Any]
    allow_functions: bool = True


class Layout(NamedTuple):
    """What an operator's batches contain: keys and values in the bytes of these serdes.

    Attributes:
        key_serde: the serde of the keys.
        value_serde: the serde of the values.
        tumbling: the windows, if the values are counts in tumbling windows.
        as_written: whether these serdes have just written the bytes. A sink with the same serdes can then write them
            unchanged. Other bytes can be written unchanged only if the serdes are canonical: decoding bytes and
            encoding the value gives the same bytes.
        last_only: whether the batches have only the last updates of rows, from the record cache.
    """

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    tumbling: TimeWindows | None = None
    as_written: bool = False
    last_only: bool = False


def can_store_input_bytes(serde: Serde[Any]) -> bool:
    """Whether a store may hold values in their input bytes: these decode to the same as what the serde would write."""
    return serde.canonical or (type(serde) is Json and serde.repeatable)


class Cursor:
    """The row of the batch whose functions are running, and the timestamp of the record they work on.

    An aggregation among the functions changes the timestamp for the functions after it.
    """

    __slots__ = ("row", "timestamp_ms")

    def __init__(self) -> None:
        self.row = 0
        self.timestamp_ms = 0


class UndecodableError(Exception):
    """A batch has records that cannot be decoded. None of its records was processed, so the record path can follow."""


class RowError(Exception):
    """A user function raised `cause` for a record. `position` is the record's index in the `order` of the context."""

    def __init__(self, cause: BaseException, position: int) -> None:
        super().__init__(position)
        self.cause = cause
        self.position = position
