"""The noise of a local Spark, kept from the user's terminal.

The JVM that we start gets a pipe as its stderr, and a thread copies what comes out of it to our own, except what Spark
and its Python workers say about themselves. What users print on workers comes this way too; it passes unchanged.
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
# Printed with an empty line after each.
_STATEFUL_WORKER = re.compile(rb"(Starting )?Streaming TransformWithState\w* Python worker\b")
_WARNED_CALL = b"  require_minimum_pandas_version()"
_TRACE = b"Traceback (most recent call last):"
# A frame of pyspark or of Python itself, not of the user or of a library.
_SPARKS_FRAME = re.compile(rb'  File "(<frozen |[^"]*(/pyspark/|/lib/python3[^/]*/(?!site-packages/)))')
_EXCEPTION = re.compile(rb"[\w.]+(:|$)")
# An idle worker, told to stop while it was about to answer.
_WORKER_GONE = re.compile(rb"(BrokenPipeError|ConnectionResetError|EOFError)\b")
_PATIENCE_MS = 100
_CHUNK = 1 << 16


class NoiseFilter:
    """Takes bytes as they come and gives those worth showing; what may yet turn out to be noise is held back."""

    def __init__(self) -> None:
        self._line = b""
        self._passing = False
        self._after: frozenset[bytes] = frozenset()
        self._trace: list[bytes] = []
        self._traces = 0

    @property
    def holds_text(self) -> bool:
        """Whether there is something that `flush` would give."""
        return bool(self._line)

    def feed(self, data: bytes) -> bytes:
        *lines, self._line = (self._line + data).splitlines(keepends=True) if data else [self._line]
        if self._line.endswith(b"\n"):
            lines.append(self._line)
            self._line = b""
        return b"".join(map(self._shown, lines))

    def flush(self) -> bytes:
        """A line not yet ended is shown, and so will be the rest of it.

        The beginning of a traceback in a Python process of Spark's stays held: it may be gone in the middle.
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
        """Holds a traceback that begins in a Python process of Spark's; drops that of one told to stop.

        Several workers may be told at once: their tracebacks come line by line in turns. A worker may also be gone
        before it has said its exception: what follows is another's line, and half a traceback tells nobody anything.
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
    """Starts Spark's JVM with its stderr filtered. Does nothing where Spark runs already, or runs elsewhere.

    The JVM gets a session of its own, so that a Ctrl-C is the application's to handle, not its workers' to die of.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    elsewhere = "SPARK_REMOTE" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ or "spark.remote" in settings
    if SparkContext._gateway is not None or elsewhere:
        return
    reading, writing = os.pipe()
    pump = _Pump(reading)
    pump.start()
    atexit.register(pump.drain)
    try:
        conf = SparkConf().setAll(list(settings.items()))
        gateway = launch_gateway(conf, {"stderr": writing, "start_new_session": True})
    finally:
        os.close(writing)
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


@contextmanager
def diverted(write: Callable[[bytes], None]) -> Iterator[None]:
    """Sends what passes the filter elsewhere for a while: to a terminal display, which must know of every line."""
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
    """Copies from the pipe until its last writer is gone. Writes to file descriptor 2, whatever that is at the time."""

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
        """Waits, at the end of the process, for what was written before it."""
        self._idle.wait(timeout=2)
