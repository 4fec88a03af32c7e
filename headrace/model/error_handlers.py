"""Error handlers decide what happens to a record that cannot be decoded, processed or encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from headrace.model.record import Headers, Record

ErrorHandlerResponse: TypeAlias = Literal["fail", "continue", "dead_letter"]
"""What to do about an error.

"fail" stops the application. "continue" drops the record and counts it. "dead_letter" also writes the input record to
`dead_letter_topic`.
"""

ErrorKind: TypeAlias = Literal["deserialization", "processing", "production"]

RESPONSES: tuple[ErrorHandlerResponse, ...] = get_args(ErrorHandlerResponse)


class ErrorHandlerContext(msgspec.Struct, frozen=True):
    """Describes one error, for an error handler of your own. Immutable.

    The input record is the record of an input topic that the application was processing when the error occurred.

    Attributes:
        kind: what failed: "deserialization", "processing" or "production".
        reason: the reason under which metrics count the record if it is dropped, e.g. "undecodable value".
        operator: name of the operator that failed.
        task_id: the task in which it failed, `<sub-topology>_<partition>`.
        topic: topic of the input record; `None` if there is no input record, as in a punctuation.
        partition: partition of the input record, or -1.
        offset: offset of the input record, or -1.
        timestamp_ms: event time of the record; in a punctuation the time for which it ran.
        key: serialized key of the record as the sub-topology of the operator read it. After a repartition that is the
            repartitioned record.
        value: serialized value of that record.
        headers: headers of that record.
        exception: the exception that was raised.
        record: the record that the operator received, with key and value as Python objects; for a production error the
            result that could not be written. It is `None` for a record that cannot be decoded, in a punctuation, and
            for a result that its Kafka topic rejects.
        output_topic: for a production error, the topic to which the result was to be written.
        failed_part: "key" or "value" if one of them could not be decoded or encoded.
        output_key: for a result that its Kafka topic rejects, the serialized key.
        output_value: for a result that its Kafka topic rejects, the serialized value.

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
"""Records that a handler returns to have them written to `dead_letter_topic` instead of the input record.

Keys and values are serialized. A record without a timestamp gets that of the failed record.
"""

ErrorHandler: TypeAlias = ErrorHandlerResponse | Callable[[ErrorHandlerContext], ErrorHandlerResponse | DeadLetters]
"""The response to every error; or a function that is called for each error, and returns a response or dead letters."""
