"""Difficult input: out of order, late, at equal times, jumps, nulls, tombstones, few keys, a moving wall clock."""

from __future__ import annotations

from random import Random

from conformance.fuzz.description import Node, Step


def random_steps(rng: Random, nodes: list[Node]) -> list[Step]:
    """Records for the input topics of a topology, and steps of the wall clock if a processor acts on it."""
    topics = sorted({topic for node in nodes for topic in node.options.get("topics", ())})
    tables = {t for node in nodes if node.op in ("table", "global_table") for t in node.options["topics"]}
    clocked = any(node.options.get("fn") in ("tick_wall", "flush_wall") for node in nodes)
    keys = "abc"[: rng.choice((1, 2, 2, 3, 3))]
    wild = rng.random() < 0.5
    steps: list[Step] = []
    time_ms = rng.choice((0, 0, 3, 40, 100))
    for number in range(rng.randint(6, 30)):
        if clocked and rng.random() < 0.2:
            steps.append(["@advance", rng.choice((1, 5, 10, 10, 20, 37))])
            continue
        topic = rng.choice(topics)
        time_ms = _next_time(rng, time_ms, wild=wild)
        null_share = 0.18 if topic in tables else 0.05
        value = None if rng.random() < null_share else _value(rng, number)
        key = None if rng.random() < 0.03 else rng.choice(keys)
        shown_ms = max(0, time_ms - rng.choice((1, 2, 5, 9, 14, 30))) if wild and rng.random() < 0.25 else time_ms
        steps.append([topic, key, value, shown_ms])
    return steps


def _next_time(rng: Random, time_ms: int, *, wild: bool) -> int:
    chance = rng.random()
    if chance < 0.2:
        return time_ms
    if wild and chance > 0.93:
        return time_ms + rng.choice((25, 60, 150, 1000))
    return time_ms + rng.choice((1, 1, 2, 3, 5, 8))


def _value(rng: Random, number: int) -> str:
    """A text of few letters, often with the number of its step, so that it is unique."""
    letters = "".join(rng.choices("abcd", k=rng.choice((0, 1, 1, 1, 2))))
    return letters + str(number) if rng.random() < 0.5 else letters
