"""Programs that count from Kafka to Kafka, each started anew in processes of its own for every run."""

from __future__ import annotations

import os
import subprocess
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
    """What a contender is to do; `name` is its application id, and the directory is its own."""

    workload: str
    servers: str
    source: str
    output: str
    name: str
    directory: Path


Commands = Callable[[Job], list[list[str]]]


def headrace(tree: Path) -> Commands:
    """One process of a version of Headrace; Spark with two threads, and its Python workers."""
    return lambda job: [[*python(tree), _script("kafka_headrace"), *_given(job)]]


def trickle_headrace(tree: Path) -> Commands:
    """The same as users would run it, with default settings."""
    return lambda job: [[*python(tree), _script("trickle_headrace"), *_given(job)]]


def quix_streams(job: Job) -> list[list[str]]:
    """Two processes in one consumer group, two partitions each: an application of Quix Streams has one thread."""
    jobs = [job._replace(directory=job.directory / f"process-{number}") for number in range(2)]
    return [[*_quix(), *_given(one)] for one in jobs]


def trickle_quix_streams(poll_s: float) -> Commands:
    """One process that commits every tenth of a second, and waits so long for input."""
    return lambda job: [[*_quix(), *_given(job), "0.1", str(poll_s)]]


def kafka_streams(cache_bytes: int) -> Commands:
    """One JVM with two stream threads."""

    def commands(job: Job) -> list[list[str]]:
        return [[*_java(), "headrace.bench.Counting", *_given(job), str(cache_bytes)]]

    return commands


def trickle_kafka_streams(job: Job) -> list[list[str]]:
    """One JVM with default settings but for exactly once."""
    return [[*_java(), "headrace.bench.Trickle", *_given(job)]]


def _java() -> list[str]:
    target = JAVA_MODULE / "target"
    return ["java", "-Xmx2g", "-cp", os.pathsep.join([str(target / "classes"), str(target / "lib" / "*")])]


def _quix() -> list[str]:
    return [str(QUIX_VENV / "bin" / "python"), _script("kafka_quix")]


def _script(name: str) -> str:
    return str(ROOT / "bench" / f"{name}.py")


def build() -> None:
    """Builds the Java program, and installs Quix Streams into an environment of its own: once."""
    subprocess.run(["mvn", "--quiet", "--batch-mode", "--file", str(JAVA_MODULE), "process-classes"], check=True)
    installed = QUIX_VENV / QUIX
    if not installed.exists():
        venv.create(QUIX_VENV, clear=True, with_pip=True)
        subprocess.run([str(QUIX_VENV / "bin" / "pip"), "install", "--quiet", QUIX], check=True)
        installed.touch()


def _given(job: Job) -> list[str]:
    return [job.workload, job.servers, job.source, job.output, job.name, str(job.directory)]
