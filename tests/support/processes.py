"""Processes of an application: the Python driver, Spark's JVM beneath it, and the Python workers beneath that."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def descendants(ancestor):
    """Every process beneath one, from the top."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    found = [ancestor]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def workers(ancestor):
    """The Python processes that run tasks, and those that plan and commit batches: all but what only starts them."""
    return [pid for pid in descendants(ancestor) if _is_python_of_spark(_command(pid)) and not descendants(pid)]


def _is_python_of_spark(command):
    """Forked, or started by Spark; what only stands for a forked one is none."""
    return b"spark.forkserver" in command or (b"pyspark." in command and b"launcher.py" not in command)


def busiest(pids):
    """The process that works most within a moment; none of none."""
    before = {pid: _worked(pid) for pid in pids}
    time.sleep(0.1)
    return sorted(pids, key=lambda pid: _worked(pid) - before[pid])[-1:]


def kill(*victims):
    """`kill -9`."""
    for victim in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def _worked(pid):
    """Ticks of CPU time, user's and system's."""
    try:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    except OSError:
        return 0


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
