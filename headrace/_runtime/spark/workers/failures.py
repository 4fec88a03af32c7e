"""Carries errors from a worker through Spark to the application, with their kind and message."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from headrace import errors
from headrace.errors import StreamsError

# The exception that a Python worker raised: the first line after the frames of its traceback.
_PYTHON_TRACE = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")
# Spark's messages when it loses a Python process that runs a task, plans batches or commits them.
_LOST_PROCESS = re.compile(r"Python worker exited unexpectedly|Broken pipe|Connection reset|java\.io\.EOFException")
_NO_PYTHON = re.compile(r'Cannot run program "([^"]+)"')
_MARK = re.compile(r"headrace-error<([A-Za-z0-9+/=]+)>")


class WorkerError(Exception):
    """Carries a `StreamsError` through Spark's own error messages."""


@contextmanager
def pack_errors() -> Iterator[None]:
    """Packs a `StreamsError` raised inside into the message of a `WorkerError`, which Spark passes on as text."""
    try:
        yield
    except StreamsError as error:
        public = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        packed = base64.b64encode(msgspec.json.encode([public, str(error)])).decode()
        message = f"{error}\nheadrace-error<{packed}>"
        raise WorkerError(message) from error


def recovered(failure: BaseException) -> StreamsError:
    """The error behind a failed query: one that `pack_errors` packed, else a `StreamsError` of one line.

    Callers raise it `from failure`, so that the complete trace is still shown.
    """
    packed = _MARK.search(str(failure))
    if "No module named 'headrace'" in str(failure):
        message = (
            "Spark's Python workers cannot import headrace. Install it in the Python they run, on every machine, or "
            "make them run this Python: set PYSPARK_PYTHON before Spark (or the Connect server) starts."
        )
        return StreamsError(message)
    missing = _NO_PYTHON.search(str(failure))
    if missing is not None:
        message = (
            f"Spark cannot start {missing[1]!r} as Python for its workers. PYSPARK_PYTHON must name one that exists on "
            "every executor and on the driver, where batches are planned. Spark unpacks --archives for executors only: "
            "unpack them where you call spark-submit, too."
        )
        return StreamsError(message)
    if packed is None:
        raised = _PYTHON_TRACE.findall(str(failure))
        lost = _LOST_PROCESS.search(str(failure))
        if lost is not None and not raised:
            message = (
                "A Python process of Spark ended unexpectedly: it was killed, ran out of memory, or crashed in native "
                f"code ({lost[0]}). The micro-batch is rolled back. Start the application again to repeat it."
            )
            return StreamsError(message)
        lines = raised[-1:] or [line.strip() for line in str(failure).splitlines() if line.strip()]
        message = f"The Spark query failed: {lines[0] if lines else type(failure).__name__}"
        return StreamsError(message)
    name, text = msgspec.json.decode(base64.b64decode(packed[1]))
    kind = getattr(errors, name, StreamsError)
    error: StreamsError = kind(text)
    return error
