"""Programs that count from Kafka to Kafka, each started anew in processes of its own for every run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

ROOT = Path(__file__).resolve().parents[1]
JAVA_MODULE = ROOT / "bench" / "kafka_streams"
QUIX_VENV = ROOT / "bench" / "data" / "quix-venv"
QUIX = "quixstreams==3.28.1"

EVERY_UPDATE, DEFAULT_CACHE = 0, 10 << 20


class Job(NamedTuple):
    """What a contender is to do; `name` is its application id, and the directory is its own."""

    workload: str
    servers: str
    source: str
    output: str
    name: str
    directory: Path


Commands = Callable[[Job], list[list[str]]]


def headrace(job: Job) -> list[list[str]]:
    """One process; Spark with two threads, and its Python workers."""
    return [[sys.executable, "-m", "bench.kafka_headrace", *_given(job)]]


def quix_streams(job: Job) -> list[list[str]]:
    """Two processes in one consumer group, two partitions each: an application of Quix Streams has one thread."""
    script = str(ROOT / "bench" / "kafka_quix.py")
    jobs = [job._replace(directory=job.directory / f"process-{number}") for number in range(2)]
    return [[str(QUIX_VENV / "bin" / "python"), script, *_given(one)] for one in jobs]


def kafka_streams(cache_bytes: int) -> Commands:
    """One JVM with two stream threads."""

    def commands(job: Job) -> list[list[str]]:
        classpath = os.pathsep.join(
            [str(JAVA_MODULE / "target" / "classes"), str(JAVA_MODULE / "target" / "lib" / "*")]
        )
        return [["java", "-Xmx2g", "-cp", classpath, "headrace.bench.Counting", *_given(job), str(cache_bytes)]]

    return commands


def build() -> None:
    """Builds the Java program, and installs Quix Streams into an environment of its own: once."""
    subprocess.run(["mvn", "--quiet", "--batch-mode", "--file", str(JAVA_MODULE), "process-classes"], check=True)
    installed = QUIX_VENV / QUIX
    if not installed.exists():
        venv.create(QUIX_VENV, clear=True, with_pip=True)
        subprocess.run([str(QUIX_VENV / "bin" / "pip"), "install", "--quiet", QUIX], check=True)
        installed.touch()


class Running:
    """Programs that run until the end of a block, with all that they start."""

    def __init__(self, commands: Sequence[Sequence[str]], directory: Path) -> None:
        directory.mkdir(parents=True)
        self._log = directory / "log"
        with self._log.open("wb") as out:
            self._processes = [subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out) for command in commands]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for pid in self._family():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._processes:
            process.wait()

    def check(self) -> None:
        """Raises an error if one has ended."""
        for process in self._processes:
            if process.poll() is not None:
                message = f"{process.args!r} ended: {self._log.read_text()[-4000:]}"
                raise RuntimeError(message)

    def cpu_s(self) -> float:
        """The processor time they have used, with children that have ended."""
        return sum(self._family().values())

    def _family(self) -> dict[int, float]:
        """The processes and their descendants, each with the processor time it has used."""
        running = dict(filter(None, map(_process, Path("/proc").glob("[0-9]*/stat"))))
        found = [process.pid for process in self._processes]
        for parent in found:
            found += [pid for pid, (parent_pid, _) in running.items() if parent_pid == parent]
        return {pid: running[pid][1] for pid in found if pid in running}


def _process(stat: Path) -> tuple[int, tuple[int, float]] | None:
    """A process, its parent, and its processor time with that of children that have ended."""
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(stat.parent.name), (int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"))


def _given(job: Job) -> list[str]:
    return [job.workload, job.servers, job.source, job.output, job.name, str(job.directory)]
