"""The filter on the stderr of Spark's JVM drops Spark's noise, and passes everything else unchanged and at once."""

from __future__ import annotations

import os
import queue

import pytest

from headrace._runtime.spark.session import quiet
from headrace._runtime.spark.session.quiet import NoiseFilter

STARTUP = b"""\
WARNING: Using incubator modules: jdk.incubator.vector
Setting default log level to "WARN".
To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).
"""
WORKER = b"""\
Starting Streaming TransformWithStateInPandas Python worker.

Streaming TransformWithStateInPandas Python worker finish init stage of Python runner. Received UDF from JVM: <f>.

Streaming TransformWithStateInPySpark Python worker Starting execution of UDF: <f>.

Streaming TransformWithState Python worker received parameters for UDF. State server port/path: /tmp/x.sock.

"""
PANDAS = b"""\
/venv/lib/python3.11/site-packages/pyspark/sql/pandas/functions.py:777: FutureWarning: PySpark does not yet fully \
support pandas >= 3.0.0. Some features may not work correctly.
  require_minimum_pandas_version()
"""
WORKER_GONE = b"""\
Traceback (most recent call last):
  File "/venv/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
  File "/venv/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
USER = b"""\
seen alice 1

Setting out
Traceback (most recent call last):
  File "/home/me/app.py", line 3, in <module>
BrokenPipeError: [Errno 32] Broken pipe
  require_minimum_pandas_version()
/home/me/app.py:3: FutureWarning: mine
"""
SOURCE_GONE = b"""\
Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/venv/lib/python3.11/site-packages/pyspark/sql/streaming/python_streaming_source_runner.py", line 265, in main
    outfile.flush()
  File "/usr/lib/python3.11/socket.py", line 723, in write
BrokenPipeError: [Errno 32] Broken pipe
"""
DAEMON_FAILED = WORKER_GONE.replace(b"BrokenPipeError: [Errno 32] Broken pipe", b"MemoryError")


def shown(*pieces):
    noise = NoiseFilter()
    return b"".join([*map(noise.feed, pieces), noise.flush()])


@pytest.mark.parametrize("text", [STARTUP, WORKER, PANDAS, WORKER_GONE, SOURCE_GONE])
def test_noise_is_dropped(text):
    assert shown(text) == b""


@pytest.mark.parametrize("text", [USER, DAEMON_FAILED, b"\n\n", b"no newline", b"\xff\xfe bytes\r\n"])
def test_everything_else_passes_unchanged(text):
    assert shown(text) == text


@pytest.mark.parametrize("size", [1, 7, 100])
def test_result_does_not_depend_on_the_size_of_pieces(size):
    text = STARTUP + USER + WORKER + USER + WORKER_GONE + PANDAS + USER
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert shown(*pieces) == USER * 3


def test_flush_shows_an_unfinished_line_and_later_its_rest():
    noise = NoiseFilter()
    parts = [noise.feed(b"loading "), noise.flush(), noise.feed(b"50% "), noise.flush(), noise.feed(b"done\nnext\n")]
    assert parts == [b"", b"loading ", b"", b"50% ", b"done\nnext\n"]


@pytest.mark.parametrize("gone", [WORKER_GONE, SOURCE_GONE])
def test_incomplete_traceback_of_a_worker_is_not_shown(gone):
    lines = gone.splitlines(keepends=True)
    assert [shown(*lines[:length]) for length in range(1, 4)] == [b"", b"", b""]


@pytest.mark.parametrize(("after", "left"), [(WORKER, b""), (WORKER_GONE, b""), (STARTUP + USER, USER)])
def test_incomplete_traceback_of_a_worker_is_not_shown_whatever_follows(after, left):
    lines = WORKER_GONE.splitlines(keepends=True)
    assert [shown(*lines[:length], after) for length in range(2, 4)] == [left, left]


def test_lines_are_copied_while_the_pipe_is_open_and_the_pump_ends_with_it():
    arrived = queue.Queue()
    reading, writing = os.pipe()
    pump = quiet._Pump(reading)
    with quiet.diverted(lambda data: arrived.put(data) if data else None):
        pump.start()
        os.write(writing, WORKER + b"hello\n")
        assert arrived.get(timeout=10) == b"hello\n"
        os.write(writing, b"no newline")
        assert arrived.get(timeout=10) == b"no newline"
        os.close(writing)
        pump.join(timeout=10)
    assert (arrived.empty(), pump.is_alive()) == (True, False)


def test_text_that_passes_goes_to_the_current_stderr(capfd):
    reading, writing = os.pipe()
    pump = quiet._Pump(reading)
    pump.start()
    os.write(writing, STARTUP + b"hello\n")
    os.close(writing)
    pump.join(timeout=10)
    assert capfd.readouterr() == ("", "hello\n")


def test_alternating_tracebacks_of_workers_that_are_stopped_at_once_are_all_dropped():
    one = (
        b"Traceback (most recent call last):\n",
        b'  File "/x/pyspark/daemon.py", line 264, in manager\n',
        b"    code = worker(sock, authenticated)\n",
        b'  File "/x/pyspark/daemon.py", line 95, in worker\n',
        b"    outfile.flush()\n",
        b"BrokenPipeError: [Errno 32] Broken pipe\n",
    )
    turns = b"".join(one[:1] + one[:3] + one[1:] + one[3:])
    noise = NoiseFilter()
    assert noise.feed(turns + b"after\n") == b"after\n"
