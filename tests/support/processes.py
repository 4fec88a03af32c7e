"""The processes of an application: the Python driver, its child, Spark's JVM, and the JVM's Python workers."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def descendants(ancestor):
    """All child processes of a process, direct and indirect, parents first."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    found = [ancestor]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def workers(ancestor):
    """The Python processes that run tasks or plan and commit batches, without those that only start others."""
    return [pid for pid in descendants(ancestor) if _is_python_of_spark(command(pid)) and not descendants(pid)]


def _is_python_of_spark(command):
    """Whether a command is a Python worker, forked or started by Spark; a launcher only stands for a forked one."""
    return b"spark.forkserver" in command or (b"pyspark." in command and b"launcher.py" not in command)


def busiest(pids):
    """The process with the most CPU time during a tenth of a second, as a list; empty if there are none."""
    before = {pid: _cpu_ticks(pid) for pid in pids}
    time.sleep(0.1)
    return sorted(pids, key=lambda pid: _cpu_ticks(pid) - before[pid])[-1:]


def command(pid):
    """The command line of a process as bytes; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_running(pid):
    """Whether a process exists and is no zombie: one that has ended, but whose parent has not noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(*victims):
    """Kills processes with SIGKILL."""
    for victim in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def _cpu_ticks(pid):
    """User and system CPU time in ticks."""
    try:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    except OSError:
        return 0
