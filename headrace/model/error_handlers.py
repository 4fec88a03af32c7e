"""Error handlers decide what happens to a record that cannot be decoded, processed or encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from headrace.model.record import Headers, Record

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
        record: the record that the operator received, with the key and the value as Python objects; for a production
            error the result that could not be written. `None` for a record that cannot be decoded, in a punctuation,
            and for a result that its Kafka topic does not accept, whose bytes are in `output_key` and `output_value`.
        output_topic: for a production error, the topic that the result was to be written to.
        failed_part: "key" or "value", if one of them could not be decoded or encoded.
        output_key: for a result that its Kafka topic does not accept, the serialized key.
        output_value: for a result that its Kafka topic does not accept, the serialized value.

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
    record: Record[Any, Any] | None = None
    output_topic: str | None = None
    failed_part: Literal["key", "value"] | None = None
    output_key: bytes | None = None
    output_value: bytes | None = None


DeadLetters: TypeAlias = Sequence[Record[bytes | None, bytes | None]]
"""A handler's own dead letters: serialized keys and values. A record without a timestamp gets the failed one's."""

ErrorHandler: TypeAlias = ErrorHandlerResponse | Callable[[ErrorHandlerContext], ErrorHandlerResponse | DeadLetters]
"""The response to every error, or a function that returns the response to each, or the dead letters to write."""
