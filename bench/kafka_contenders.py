"""Programs that count from Kafka to Kafka; each runs in processes of its own, started for every round."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.processes import ROOT
from bench.versions import python

JAVA_MODULE = ROOT / "bench" / "kafka_streams"
QUIX_VENV = ROOT / "bench" / "data" / "quix-venv"
QUIX = "quixstreams==3.28.1"

EVERY_UPDATE, DEFAULT_CACHE = 0, 10 << 20


class Job(NamedTuple):
    """One round of a contender; `name` is its application id, `directory` is for its own files."""

    workload: str
    servers: str
    source: str
    output: str
    name: str
    directory: Path


def job_of(name: str, workload: str, servers: str, directory: Path) -> Job:
    """A job with topics and a directory of its own."""
    return Job(workload, servers, f"{name}-input", f"{name}-output", name, directory / name)


Commands = Callable[[Job], list[list[str]]]


def headrace(tree: Path, cache_bytes: int = EVERY_UPDATE) -> Commands:
    """One process with the Headrace in `tree`; Spark with two threads and its Python workers."""
    cache = [str(cache_bytes)] if cache_bytes else []  # earlier versions have no cache
    return lambda job: [[*python(tree), _script("kafka_headrace"), *_arguments(job), *cache]]


def trickle_headrace(tree: Path) -> Commands:
    """One process with the Headrace in `tree`, with default settings, as users would run it."""
    return lambda job: [[*python(tree), _script("trickle_headrace"), *_arguments(job)]]


def quix_streams(job: Job) -> list[list[str]]:
    """Two processes in one consumer group, two partitions each, because a Quix Streams application has one thread."""
    jobs = [job._replace(directory=job.directory / f"process-{number}") for number in range(2)]
    return [[*_quix(), *_arguments(one)] for one in jobs]


def trickle_quix_streams(poll_s: float) -> Commands:
    """One process that commits every tenth of a second and waits up to `poll_s` for input."""
    return lambda job: [[*_quix(), *_arguments(job), "0.1", str(poll_s)]]


def kafka_streams(cache_bytes: int) -> Commands:
    """One JVM with two stream threads."""

    def commands(job: Job) -> list[list[str]]:
        return [[*_java(), "headrace.bench.Counting", *_arguments(job), str(cache_bytes)]]

    return commands


def trickle_kafka_streams(job: Job) -> list[list[str]]:
    """One JVM with default settings except exactly-once."""
    return [[*_java(), "headrace.bench.Trickle", *_arguments(job)]]


def _java() -> list[str]:
    target = JAVA_MODULE / "target"
    return ["java", "-Xmx2g", "-cp", os.pathsep.join([str(target / "classes"), str(target / "lib" / "*")])]


def _quix() -> list[str]:
    return [str(QUIX_VENV / "bin" / "python"), _script("kafka_quix")]


def _script(name: str) -> str:
    return str(ROOT / "bench" / f"{name}.py")


def build() -> None:
    """Builds the Java program and, the first time, installs Quix Streams into a virtual environment of its own."""
    subprocess.run(["mvn", "--quiet", "--batch-mode", "--file", str(JAVA_MODULE), "process-classes"], check=True)
    installed = QUIX_VENV / QUIX
    if not installed.exists():
        venv.create(QUIX_VENV, clear=True, with_pip=True)
        subprocess.run([str(QUIX_VENV / "bin" / "pip"), "install", "--quiet", QUIX], check=True)
        installed.touch()


def prepare() -> None:
    """Runs `headrace prepare`, so that start-up times are those of a machine that has run an application before."""
    subprocess.run([str(Path(sys.executable).with_name("headrace")), "prepare"], check=True)


def _arguments(job: Job) -> list[str]:
    return [job.workload, job.servers, job.source, job.output, job.name, str(job.directory)]
