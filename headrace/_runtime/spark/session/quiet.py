"""Filters the noise of a local Spark out of the user's terminal.

The JVM that we start gets a pipe as its stderr, and a thread copies the pipe to our own stderr, without the messages
that Spark and its Python workers print about themselves. What user code prints on workers passes unchanged.
"""

from __future__ import annotations

import atexit
import os
import re
import select
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

_NOISE = re.compile(
    rb"WARNING: Using incubator modules: "
    rb'|Setting default log level to "'
    rb"|To adjust logging level use sc\.setLogLevel"
    rb"|\S*/pyspark/\S*: FutureWarning: PySpark does not yet fully support pandas"
)
# These lines are followed by an empty line.
_STATEFUL_WORKER = re.compile(rb"(Starting )?Streaming TransformWithState\w* Python worker\b")
_WARNED_CALL = b"  require_minimum_pandas_version()"
_TRACE = b"Traceback (most recent call last):"
# A frame of pyspark or of Python itself, not of the user or of a library.
_SPARKS_FRAME = re.compile(rb'  File "(<frozen |[^"]*(/pyspark/|/lib/python3[^/]*/(?!site-packages/)))')
_EXCEPTION = re.compile(rb"[\w.]+(:|$)")
# The exceptions of an idle worker that Spark stops while it is about to answer.
_WORKER_GONE = re.compile(rb"(BrokenPipeError|ConnectionResetError|EOFError)\b")
_PATIENCE_MS = 100
_CHUNK = 1 << 16


class NoiseFilter:
    """A filter that returns the bytes to show, and holds lines back while they may still turn out to be noise."""

    def __init__(self) -> None:
        self._line = b""
        self._passing = False
        self._after: frozenset[bytes] = frozenset()
        self._trace: list[bytes] = []
        self._traces = 0

    @property
    def holds_text(self) -> bool:
        """Whether `flush` would return anything."""
        return bool(self._line)

    def feed(self, data: bytes) -> bytes:
        *lines, self._line = (self._line + data).splitlines(keepends=True) if data else [self._line]
        if self._line.endswith(b"\n"):
            lines.append(self._line)
            self._line = b""
        return b"".join(map(self._shown, lines))

    def flush(self) -> bytes:
        """Returns an unfinished line, and the traceback that is held back before it. Its rest will then be shown, too.

        Without an unfinished line, a traceback stays held back: the worker may have died in the middle of it.
        """
        if not self._line:
            return b""
        held = b"".join(self._trace) + self._line
        self._trace, self._traces, self._line, self._passing = [], 0, b"", True
        return held

    def _shown(self, line: bytes) -> bytes:
        text = line.rstrip(b"\r\n")
        if self._passing:
            self._passing = False
            return line
        if text in self._after:
            self._after = frozenset()
            return b""
        if _STATEFUL_WORKER.match(text):
            self._after = frozenset({b""})
            return b""
        if _NOISE.match(text):
            self._after = frozenset({_WARNED_CALL})
            return b""
        self._after = frozenset()
        return self._shown_trace(line) if self._trace or text == _TRACE else line

    def _shown_trace(self, line: bytes) -> bytes:
        """Takes the next line of a traceback, and returns the lines to show now.

        A traceback that begins in Spark's own code is held back until the line with its exception arrives. It is
        dropped if all its frames are in Spark's or Python's own code and the exception is one that a worker raises when
        Spark stops it; otherwise it is shown. If several workers are stopped at once, lines of their tracebacks may
        alternate: they are then dropped together. If a worker dies before it has printed its exception, the next line
        is from another process: only this line is shown, since half a traceback helps nobody.
        """
        self._trace.append(line)
        begins = line.rstrip(b"\r\n") == _TRACE
        self._traces += begins
        files = [part for part in self._trace if part.startswith(b'  File "')]
        inside = bool(files) and bool(_SPARKS_FRAME.match(files[0]))
        if begins or (inside and line.startswith(b"  ")):
            return b""
        if files and all(map(_SPARKS_FRAME.match, files)) and _WORKER_GONE.match(line):
            self._traces -= 1
            if not self._traces:
                self._trace = []
            return b""
        held, self._trace, self._traces = self._trace, [], 0
        return line if inside and not _EXCEPTION.match(line) else b"".join(held)


def launch(settings: Mapping[str, str]) -> None:
    """Starts Spark's JVM with its stderr filtered. Does nothing if Spark is running already, or runs elsewhere.

    The JVM gets its own process session, so that Ctrl-C reaches only the application, which then stops in order, and
    does not kill the workers. The JVM reads `settings` from a file, because every user of the machine can see command
    lines.
    """
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    from headrace._runtime.spark.session.submit import submit_settings

    elsewhere = "SPARK_REMOTE" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ or "spark.remote" in settings
    if SparkContext._gateway is not None or elsewhere:
        return
    reading, writing = os.pipe()
    pump = _Pump(reading)
    pump.start()
    atexit.register(pump.drain)
    try:
        with submit_settings(settings):
            gateway = launch_gateway(popen_kwargs={"stderr": writing, "start_new_session": True})
    finally:
        os.close(writing)
    SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def diverted(write: Callable[[bytes], None]) -> Iterator[None]:
    """Sends what passes the filter to `write` instead of stderr, for a display that must place every line itself."""
    global _write
    before, _write = _write, write
    try:
        yield
    finally:
        _write = before


def _to_stderr(data: bytes) -> None:
    with suppress(OSError):
        while data:
            data = data[os.write(2, data) :]


_write: Callable[[bytes], None] = _to_stderr


class _Pump(threading.Thread):
    """Copies the pipe to the current file descriptor 2, until the last writer closes the pipe."""

    def __init__(self, source: int) -> None:
        super().__init__(name="headrace-spark-stderr", daemon=True)
        self._source = source
        self._filter = NoiseFilter()
        self._idle = threading.Event()

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        while True:
            if not poll.poll(_PATIENCE_MS if self._filter.holds_text else 0):
                _write(self._filter.flush())
                self._idle.set()
                poll.poll()
            self._idle.clear()
            data = os.read(self._source, _CHUNK)
            _write(self._filter.feed(data) if data else self._filter.flush())
            if not data:
                os.close(self._source)
                self._idle.set()
                return

    def drain(self) -> None:
        """Waits at the end of the process until everything written so far is copied."""
        self._idle.wait(timeout=2)
