"""Error handlers decide what happens to a record that cannot be decoded, processed or encoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import msgspec

from headrace.model.record import Headers

ErrorHandlerResponse: TypeAlias = Literal["fail", "continue", "dead_letter"]
"""Stops the application; drops the record and counts it; or drops, counts and writes it to the dead-letter topic."""

ErrorKind: TypeAlias = Literal["deserialization", "processing", "production"]

RESPONSES: tuple[ErrorHandlerResponse, ...] = get_args(ErrorHandlerResponse)


class ErrorHandlerContext(msgspec.Struct, frozen=True):
    """One error, as passed to an error handler of your own. Immutable.

    Attributes:
        kind: what failed: "deserialization", "processing" or "production".
        reason: why the record is dropped, under the name that metrics count; e.g. "undecodable value".
        operator: name of the operator that failed.
        task_id: the task it failed in, `<sub-topology>_<partition>`.
        topic: topic of the input record; `None` if there is no input record, as in a punctuation.
        partition: partition of the input record, or -1.
        offset: offset of the input record, or -1.
        timestamp_ms: event time of the input record; in a punctuation the time that fired it.
        key: serialized key of the input record, as the sub-topology of the operator read it.
        value: serialized value of the input record, likewise.
        headers: headers of the input record.
        exception: the exception that was raised.

    Example:
        >>> import headrace as hr
        >>> def tolerant(failed: hr.ErrorHandlerContext) -> hr.ErrorHandlerResponse:
        ...     return "continue" if isinstance(failed.exception, ZeroDivisionError) else "fail"
        >>> config = hr.StreamsConfig(application_id="ratios", processing_exception_handler=tolerant)
    """

    kind: ErrorKind
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


ErrorHandler: TypeAlias = ErrorHandlerResponse | Callable[[ErrorHandlerContext], ErrorHandlerResponse]
"""The response to every error, or a function that returns the response to each."""
