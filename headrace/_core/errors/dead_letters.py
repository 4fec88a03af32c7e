"""The headers of a dead letter, which describe the error."""

from __future__ import annotations

from headrace._core.errors.failure import trace_of
from headrace.errors import text_of
from headrace.model.error_handlers import ErrorHandlerContext
from headrace.model.record import Headers


def letter_headers(failed: ErrorHandlerContext) -> Headers:
    """The headers of the failed record, followed by headers that describe the error.

    If there is no input record, as in a punctuation, there are no headers for topic, partition and offset.
    """
    position = {"topic": failed.topic, "partition": failed.partition, "offset": failed.offset}
    kind = type(failed.exception)
    details = {
        "reason": failed.reason,
        "operator": failed.operator,
        **(position if failed.topic is not None else {}),
        "timestamp": failed.timestamp_ms,
        "exception": kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}",
        "message": text_of(failed.exception),
        "stacktrace": trace_of(failed.exception),
    }
    added = ((f"headrace.error.{name}", str(detail).encode(errors="replace")) for name, detail in details.items())
    return (*failed.headers, *added)
