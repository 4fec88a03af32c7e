"""A fixed sample of random cases with what Kafka Streams wrote, to be replayed without Java.

Cases are stored whole: another generator leaves them as they are. Where the library differs on purpose, the answer is
that of Kafka Streams following the library's rules, and the rules are named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conformance.fuzz.classify import rules_between
from conformance.fuzz.description import Case
from conformance.fuzz.generator import random_case
from conformance.fuzz.kafka_streams import KafkaStreams
from conformance.fuzz.run import Answer, on_driver
from conformance.record import RECORDER

FILE = Path(__file__).parent / "sample.json"
_CASES = 200
_LONGEST = 3_000  # characters of a case, so that the file stays small


class Recorded(NamedTuple):
    """A case, the rules that Kafka Streams followed, and its answer."""

    case: Case
    rules: tuple[str, ...]
    answer: Answer


def load() -> list[Recorded]:
    """The recorded sample."""
    content = json.loads(FILE.read_text())["cases"]
    return [Recorded(Case.from_json(one["seed"], one), tuple(one["rules"]), one["answer"]) for one in content]


def record(kafka: KafkaStreams, first_seed: int = 1) -> int:
    """Writes a new sample; returns how many seeds were tried for it."""
    lines: list[str] = []
    seed = first_seed
    while len(lines) < _CASES:
        lines += _recorded(random_case(seed), kafka)
        seed += 1
    version = re.findall("<kafka.version>(.*)</kafka.version>", (RECORDER / "pom.xml").read_text())[0]
    FILE.write_text(f'{{"kafka": "{version}", "cases": [\n' + ",\n".join(lines) + "\n]}\n")
    return seed - first_seed


def _recorded(case: Case, kafka: KafkaStreams) -> Iterator[str]:
    ours, theirs = on_driver(case), kafka.run(case)
    if not any(ours.get("outputs", {}).values()):
        return
    rules = rules_between(case, ours, theirs, kafka)
    if rules is None:
        return
    content: dict[str, Any] = {"seed": case.seed, "rules": rules, **case.as_json()}
    content["answer"] = kafka.run(case, *rules) if rules else theirs
    text = json.dumps(content, separators=(",", ":"))
    if len(text) <= _LONGEST:
        yield text
