"""One run over many random cases: two ways to run each, and the counts of what came out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from conformance.fuzz.classify import reason_for
from conformance.fuzz.compare import equal, shrink
from conformance.fuzz.description import Case
from conformance.fuzz.generator import random_case
from conformance.fuzz.kafka_streams import KafkaStreams
from conformance.fuzz.plan import on_plan, taken_in_order
from conformance.fuzz.report import differing
from conformance.fuzz.run import Answer, on_driver
from conformance.fuzz.spark import Spark

_ON_DISK = 10
_SILENCE_S = 30


class Comparison(Protocol):
    """What the test driver is compared with."""

    name: str
    at_once: int

    def expect(self, cases: Sequence[Case]) -> None:
        """Announces the next cases, so that they may be run together; there are `at_once` of them."""

    def prepare(self, case: Case) -> Case:
        """The case with input that both sides take in the same order."""

    def run(self, case: Case, ours: Answer) -> Answer:
        """The answer to compare with that of the test driver."""

    def reason(self, case: Case, ours: Answer, theirs: Answer) -> str | None:
        """Why the answers differ, if that is known."""


class AgainstKafkaStreams:
    """Compares with Kafka Streams on its own test driver."""

    name = "Kafka Streams"
    at_once = 1

    def __init__(self, kafka: KafkaStreams) -> None:
        self._kafka = kafka

    def prepare(self, case: Case) -> Case:
        return case

    def expect(self, cases: Sequence[Case]) -> None:
        """Does nothing: cases are run one by one."""

    def run(self, case: Case, ours: Answer) -> Answer:
        """Runs with stores in memory. If the answers differ, and for every tenth seed, runs with stores on disk."""
        if case.seed % _ON_DISK:
            answer = self._kafka.run(case, memory=True)
            if equal(ours, answer):
                return answer
        return self._kafka.run(case)

    def reason(self, case: Case, ours: Answer, theirs: Answer) -> str | None:
        return reason_for(case, ours, theirs, self._kafka)


class AgainstPlan:
    """Compares with the plan that Spark runs, in batches cut at random and with restarts."""

    name = "Plan"
    at_once = 1

    def prepare(self, case: Case) -> Case:
        """The case with its records in the order in which a batch processes them; it ends before a step that fails."""
        ordered = replace(case, steps=tuple(taken_in_order(case)))
        failed = on_driver(ordered).get("failed")
        return ordered if failed is None else replace(ordered, steps=ordered.steps[:failed])

    def expect(self, cases: Sequence[Case]) -> None:
        """Does nothing: cases are run one by one."""

    def run(self, case: Case, ours: Answer) -> Answer:  # noqa: ARG002
        return on_plan(case)

    def reason(self, case: Case, ours: Answer, theirs: Answer) -> str | None:  # noqa: ARG002
        return None


class AgainstSpark(AgainstPlan):
    """Compares with Spark itself, with several cases in one query."""

    name = "Spark"
    at_once = 8

    def __init__(self, spark: Spark) -> None:
        self._spark = spark

    def expect(self, cases: Sequence[Case]) -> None:
        self._spark.prepare(cases)

    def run(self, case: Case, ours: Answer) -> Answer:  # noqa: ARG002
        return self._spark.run(case)


class Fuzzing:
    """Runs cases, counts results, and shows each difference that nothing explains."""

    def __init__(self, comparison: Comparison, max_differences: int, show: str | None = None) -> None:
        self._comparison = comparison
        self._max_differences = max_differences
        self._show = show
        self._spoke = time.monotonic()
        self._counts: Counter[str] = Counter()
        self._unexplained: list[int] = []

    def run(self, first: int, cases: int | None, seconds: float) -> int:
        """Runs cases from a seed on; returns the exit code, 1 if there is a difference that nothing explains."""
        began = time.monotonic()
        seed = first
        try:
            while len(self._unexplained) < self._max_differences:
                if seed >= first + cases if cases is not None else time.monotonic() > began + seconds:
                    break
                group = [self._comparison.prepare(random_case(seed + i)) for i in range(self._comparison.at_once)]
                self._comparison.expect(group)
                for case in group:
                    self._compare(case)
                seed += len(group)
                self._report_progress(seed - first)
        except KeyboardInterrupt:
            print("Interrupted.")
        print(f"{seed - first} cases from seed {first} in {time.monotonic() - began:.0f} s:")
        for what, count in self._counts.most_common():
            print(f"  {count:7} {what}")
        if self._unexplained:
            print(f"Without a reason: {' '.join(map(str, self._unexplained))}")
            print("Repeat one with: python -m conformance.fuzz --cases 1 --seed SEED")
        return 1 if self._unexplained else 0

    def _report_progress(self, done: int) -> None:
        if time.monotonic() > self._spoke + _SILENCE_S:
            self._spoke = time.monotonic()
            print(f"{done} cases, {len(self._unexplained)} unexplained differences ...", flush=True)

    def _compare(self, case: Case) -> None:
        ours, theirs = self._answers(case)
        if "gave up" in theirs:
            self._counts[f"given up: {theirs['gave up']}"] += 1
            return
        if equal(ours, theirs):
            self._counts["refused by both" if "refused" in ours else "the same"] += 1
            return
        reason = self._comparison.reason(case, ours, theirs)
        if reason is not None:
            self._counts[f"differ: {reason}"] += 1
            if self._show is None or self._show not in reason:
                return
        else:
            self._counts["DIFFER WITHOUT A REASON"] += 1
            self._unexplained.append(case.seed)
        small = shrink(case, lambda smaller: self._differs(smaller, reason))
        print(f"--- seed {case.seed}, {reason or 'for no known reason'}")
        print(differing(small, *self._answers(small), other=self._comparison.name), flush=True)

    def _differs(self, case: Case, reason: str | None) -> bool:
        ours, theirs = self._answers(case)
        if "gave up" in theirs or equal(ours, theirs):
            return False
        return self._comparison.reason(case, ours, theirs) == reason

    def _answers(self, case: Case) -> tuple[Answer, Answer]:
        ours = on_driver(case)
        return ours, ours if "gave up" in ours else self._comparison.run(case, ours)
