"""Errors on their way from a worker through Spark back to the application, without losing what they say."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from headrace import errors
from headrace.errors import StreamsError

# What a Python worker raised: the first line after the frames of its traceback.
_PYTHON_TRACE = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")
# What Spark says when it has lost one, which runs a task, plans batches or completes them.
_PROCESS_GONE = re.compile(r"Python worker exited unexpectedly|Broken pipe|Connection reset|java\.io\.EOFException")
_NO_PYTHON = re.compile(r'Cannot run program "([^"]+)"')
_MARK = re.compile(r"headrace-error<([A-Za-z0-9+/=]+)>")


class WorkerError(Exception):
    """Carries a `StreamsError` through Spark's own error messages."""


@contextmanager
def reported() -> Iterator[None]:
    """Makes the library's errors raised inside survive the way through Spark."""
    try:
        yield
    except StreamsError as error:
        public = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        packed = base64.b64encode(msgspec.json.encode([public, str(error)])).decode()
        message = f"{error}\nheadrace-error<{packed}>"
        raise WorkerError(message) from error


def recovered(failure: BaseException) -> StreamsError:
    """The error a failed query stands for; what is not ours is told in one line, the whole trace chained beneath."""
    found = _MARK.search(str(failure))
    if "No module named 'headrace'" in str(failure):
        message = (
            "Spark's Python workers cannot import headrace. Install it in the Python they run, on every machine, or "
            "point them to this one: set PYSPARK_PYTHON before Spark (or the Connect server) starts."
        )
        return StreamsError(message)
    missing = _NO_PYTHON.search(str(failure))
    if missing is not None:
        message = (
            f"Spark cannot start {missing[1]!r} as Python for its workers. PYSPARK_PYTHON must name one that is there "
            "on every executor and beside the driver, where batches are planned: what --archives sends is unpacked for "
            "executors only, so unpack it where spark-submit is called, too."
        )
        return StreamsError(message)
    if found is None:
        raised = _PYTHON_TRACE.findall(str(failure))
        gone = _PROCESS_GONE.search(str(failure))
        if gone is not None and not raised:
            message = (
                "A Python process of Spark ended in the middle of its work: killed, out of memory, or crashed in "
                f"native code ({gone[0]}). Nothing of the micro-batch counts; start the application again, and it goes "
                "on there."
            )
            return StreamsError(message)
        lines = raised[-1:] or [line.strip() for line in str(failure).splitlines() if line.strip()]
        message = f"The Spark query failed: {lines[0] if lines else type(failure).__name__}"
        return StreamsError(message)
    name, text = msgspec.json.decode(base64.b64decode(found[1]))
    kind = getattr(errors, name, StreamsError)
    error: StreamsError = kind(text)
    return error
