"""What a dead letter says about the error it was written for."""

from __future__ import annotations

import traceback

from headrace.model.error_handlers import ErrorHandlerContext
from headrace.model.record import Headers


def letter_headers(failed: ErrorHandlerContext) -> Headers:
    """Those of the record, and what is to say about the error; about the record's place only if there is one."""
    place = {"topic": failed.topic, "partition": failed.partition, "offset": failed.offset}
    kind = type(failed.exception)
    said = {
        "reason": failed.reason,
        "operator": failed.operator,
        **(place if failed.topic is not None else {}),
        "timestamp": failed.timestamp_ms,
        "exception": kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}",
        "message": failed.exception,
        "stacktrace": "".join(traceback.format_exception(failed.exception)),
    }
    added = ((f"headrace.error.{name}", str(what).encode(errors="replace")) for name, what in said.items())
    return (*failed.headers, *added)
