"""Error handlers: what becomes of a record that cannot be decoded, processed or encoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from headrace.model.record import Headers

ANSWERS = ("fail", "continue", "dead_letter")


class ErrorHandlerContext(msgspec.Struct, frozen=True):
    """One error, as a handler of your own is told of it. Immutable.

    Attributes:
        kind: "deserialization", "processing" or "production".
        reason: why the record is dropped, as metrics count it; e.g. "undecodable value".
        operator: the name of the operator that failed.
        task_id: the task it failed in, as sub-topology and partition.
        topic: where the input record behind it was read; `None` if there is none, as in a punctuation.
        partition: its partition, -1 if there is none.
        offset: its offset, -1 if there is none.
        timestamp_ms: its event time; in a punctuation the time that fired it.
        key: the bytes of its key, as the sub-topology of the operator read them.
        value: the bytes of its value, likewise.
        headers: its headers.
        exception: what was raised.

    Example:
        >>> def patient(failed: ErrorHandlerContext) -> str:
        ...     return "continue" if isinstance(failed.exception, ZeroDivisionError) else "fail"
    """

    kind: str
    reason: str
    operator: str
    task_id: str
    topic: str | None
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    exception: BaseException


ErrorHandler: TypeAlias = str | Callable[[ErrorHandlerContext], str]
"""One of "fail", "continue" and "dead_letter", or a function that gives one of them for each error."""
