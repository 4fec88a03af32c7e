"""Says in words what each case compares, who the contenders are, and which version of each ran."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.kafka_contenders import JAVA_MODULE, QUIX
from bench.processes import ROOT


class Case(NamedTuple):
    """A case in words: what is computed, and what a reader must know to judge the comparison."""

    title: str
    text: str


_TEXTS = tomllib.loads(Path(__file__).with_name("cases.toml").read_text())
CASES = {name: Case(words["title"], words["text"].strip()) for name, words in _TEXTS.items()}


def described(case: str) -> Case:
    """A case in words, also of one that compares two versions: `count against 8bafb75`."""
    name, _, commit = case.partition(" against ")
    known = CASES[name]
    if not commit:
        return known
    text = f"Case `{name}` with an earlier version of Headrace, commit {commit}, each version in processes of its own."
    if name == "latency":
        text += " Both run at the same time and get records in turns, each when the one before has its result."
    return Case(f"{known.title}: against {commit}", text)


def command(case: str) -> str:
    """The command that measures a case again."""
    name, _, commit = case.partition(" against ")
    return f"python -m bench {name}" + (f" --against {commit}" if commit else "")


def contender_version(contender: str, run: Mapping[str, Any]) -> str:
    """Software and version of a contender; `run` is what the results file says about the run."""
    if contender.startswith("kafka-streams"):
        return f"Kafka Streams {_kafka_version()}"
    if contender.startswith("quix-streams"):
        return f"Quix Streams {QUIX.rpartition('=')[2]}"
    if contender.startswith("spark-"):
        return f"Apache Spark {run.get('pyspark', _spark_line())}"
    earlier = re.fullmatch(r"headrace-([0-9a-f]{7,})", contender)
    return f"Headrace {earlier[1] if earlier else run.get('headrace', '(commit not recorded)')}"


def _kafka_version() -> str:
    found = re.search(r"<kafka.version>(.+?)</kafka.version>", (JAVA_MODULE / "pom.xml").read_text())
    assert found is not None
    return found[1]


def _spark_line() -> str:
    """The Spark versions that the package allows, for results that do not say which one ran: `4.3`."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [requirement] = [one for one in extras["spark"] if one.startswith("pyspark")]
    found = re.search(r">=([\d.]+)", requirement)
    assert found is not None
    return found[1]
