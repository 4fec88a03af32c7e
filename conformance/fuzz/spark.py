"""Runs cases on a local Spark, several in one query: cut at random, with restarts, on one or two Spark partitions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import headrace as hr
from conformance.fuzz.build import topology_of
from conformance.fuzz.description import Case
from conformance.fuzz.plan import outputs_of, refusal_of
from conformance.fuzz.run import CONFIG, Answer
from headrace import serdes
from headrace._graph.graph import Graph
from headrace._runtime.spark.session.session import own_session
from headrace.dsl.topology import Topology
from tests.golden.multiplex import with_prefix

_PARTS = 3
_TEXT = serdes.String()
_BY_THE_WALL_CLOCK = ("tick_wall", "flush_wall")


class Spark:
    """A Spark session for many cases."""

    def __init__(self) -> None:
        self._session: Any = own_session(CONFIG)
        self._answers: dict[int, tuple[Case, Answer]] = {}

    def prepare(self, cases: Sequence[Case]) -> None:
        """Runs cases together, in one query. If the query fails, `run` runs each case in a query of its own."""
        runnable = [case for case in cases if refusal_of(case) is None and _needs_no_clock(case)]
        self._answers = {}
        try:
            answers = self._run(runnable)
        except hr.StreamsError:
            return
        self._answers = {case.seed: (case, answer) for case, answer in zip(runnable, answers, strict=True)}

    def run(self, case: Case) -> Answer:
        """The outputs of a case by topic; the seed of the first case in the query decides how the input is cut."""
        prepared, answer = self._answers.get(case.seed, (None, None))
        if prepared is case and answer is not None:
            return answer
        if not _needs_no_clock(case):
            return {"gave up": "on Spark the wall clock moves by itself"}
        refusal = refusal_of(case)
        if refusal is not None:
            return refusal
        try:
            return self._run([case])[0]
        except hr.StreamsError as error:
            return {"outputs": {}, "failed": -1, "message": f"{type(error).__name__}: {error}"}

    def close(self) -> None:
        self._session.stop()

    def _run(self, cases: Sequence[Case]) -> list[Answer]:
        if not cases:
            return []
        home = Path(tempfile.mkdtemp(prefix="headrace-fuzz-"))
        try:
            return self._run_in(home, cases)
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def _run_in(self, home: Path, cases: Sequence[Case]) -> list[Answer]:
        rng = Random(cases[0].seed)  # noqa: S311
        topologies = {f"c{number}.": topology_of(case) for number, case in enumerate(cases)}
        topics = hr.LocalTopics(home / "topics")
        for prefix, case in zip(topologies, cases, strict=True):
            for topic in case.topics:
                topics.create(prefix + topic, 1)
        cuts = [sorted(rng.choices(range(len(case.steps) + 1), k=_PARTS - 1)) for case in cases]
        app = None
        for part in range(_PARTS):
            for prefix, case, at in zip(topologies, cases, cuts, strict=True):
                _produce(topics, prefix, case, slice([0, *at][part], [*at, len(case.steps)][part]))
            if app is None or rng.random() < 0.5:
                app = hr.Streams(_combined(topologies), _settings(home, rng.choice((1, 2))), spark=self._session)
            app.process_available()
        return [{"outputs": outputs_of(topics, topology, prefix)} for prefix, topology in topologies.items()]


def _settings(home: Path, partitions: int) -> hr.StreamsConfig:
    return CONFIG.replace(
        topics_dir=home / "topics", state_dir=home / "state", local_dir=home / "local", spark_partitions=partitions
    )


def _combined(topologies: dict[str, hr.Topology]) -> Topology:
    nodes: list[Any] = []
    stores: dict[str, Any] = {}
    for prefix, topology in topologies.items():
        renamed = with_prefix(topology._graph, prefix)
        nodes += renamed.nodes
        stores |= renamed.stores
    return Topology(Graph(tuple(nodes), stores))


def _produce(topics: hr.LocalTopics, prefix: str, case: Case, part: slice) -> None:
    for topic in case.topics:
        records = [hr.Record(*step[1:], partition=0) for step in case.steps[part] if step[0] == topic]
        if records:
            topics.produce(prefix + topic, records, _TEXT, _TEXT)


def _needs_no_clock(case: Case) -> bool:
    by_clock = any(node.options.get("fn") in _BY_THE_WALL_CLOCK for node in case.nodes)
    return not by_clock and all(step[0] != "@advance" for step in case.steps)
