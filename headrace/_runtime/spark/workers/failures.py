"""Carries errors from a worker through Spark to the application, with their kind and message."""

from __future__ import annotations

import base64
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from headrace import errors
from headrace._core.errors.failure import trace_of
from headrace._files import full_disk
from headrace.errors import StateError, StreamsError, text_of

# The exception that a Python worker raised: the first line after the frames of its traceback.
_PYTHON_TRACE = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")
# Spark's messages when it loses a Python process that runs a task, plans batches or commits them.
_LOST_PROCESS = re.compile(r"Python worker exited unexpectedly|Broken pipe|Connection reset|java\.io\.EOFException")
_NO_PYTHON = re.compile(r'Cannot run program "([^"]+)"')
_FULL_DISKS = {os.strerror(number): number for number in (errno.ENOSPC, errno.EDQUOT)}
_FULL_DISK = re.compile("|".join(_FULL_DISKS))
_MARK = re.compile(r"headrace-error<([A-Za-z0-9+/=]+)>")


class WorkerError(Exception):
    """Carries a `StreamsError` through Spark's own error messages."""


@contextmanager
def pack_errors() -> Iterator[None]:
    """Packs any error raised inside the block into the message of a `WorkerError`, which Spark passes on as text.

    The message is the traceback, cut to a length that Spark and the JVM can carry, and then `headrace-error<...>` with
    the encoded error. A traceback may have text from records, so only the last such mark is trusted.
    """
    try:
        yield
    except GeneratorExit:
        raise  # Spark closes the generator around this: nothing failed
    except BaseException as error:
        packed = base64.b64encode(msgspec.json.encode(_public_form(error))).decode()
        message = f"{trace_of(error)}\nheadrace-error<{packed}>"
        raise WorkerError(message) from None


def _public_form(error: BaseException) -> tuple[str, str]:
    """The name of the public class of an error, and its text."""
    if not isinstance(error, StreamsError):
        return StreamsError.__name__, f"The Spark query failed: {type(error).__name__}: {text_of(error)}"
    public = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return public, text_of(error)


def recovered(failure: BaseException, state_dir: str | os.PathLike[str] | None = None) -> StreamsError:
    """Returns the error behind a failed query: the one that `pack_errors` packed or, without one, a `StreamsError`.

    Callers raise it `from failure`, so that the complete trace is still shown. `state_dir` has Spark's checkpoint, and
    is needed only for errors of a full disk.
    """
    packed = _unpacked(str(failure))
    if packed is not None:
        return packed
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
    raised = _PYTHON_TRACE.findall(str(failure))
    full = _FULL_DISK.search(str(failure))
    if full is not None and state_dir is not None:
        return _full_disk(OSError(_FULL_DISKS[full[0]], full[0]), Path(state_dir))
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


def _unpacked(text: str) -> StreamsError | None:
    """Decodes the error that `pack_errors` has put into a text; `None` if there is none.

    Only the last mark in the text is decoded: earlier ones may come from records that imitate it.
    """
    marks = _MARK.findall(text)
    if not marks:
        return None
    try:
        name, message = msgspec.json.decode(base64.b64decode(marks[-1]), type=tuple[str, str])
    except ValueError:
        return None
    kind = getattr(errors, name, None)
    return kind(message) if isinstance(kind, type) and issubclass(kind, StreamsError) else None


def _full_disk(error: OSError, state_dir: Path) -> StreamsError:
    """The error for a disk that Spark found full; it names the directory that has less free space.

    Spark does not say which file it could not write: one of its checkpoint, or a scratch file of a shuffle.
    """
    shuffles = Path(os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0])
    path = min((path for path in (state_dir, shuffles) if path.exists()), key=lambda path: shutil.disk_usage(path).free)
    message = (
        f"Spark cannot write to {str(path)!r}: {full_disk(error, path)} (on a cluster, look at spark.local.dir of the "
        "executors too); the application continues after its last committed batch when started again."
    )
    return StateError(message)
