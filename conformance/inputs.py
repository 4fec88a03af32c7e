"""Difficult random inputs: out of order, late, equal timestamps, far jumps, nulls, tombstones for missing keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from string import ascii_lowercase
from typing import Any, Self

from conformance.order import Step

ValueMaker = Callable[[Random, int], str]


def letters(rng: Random, index: int) -> str:
    """One to three letters, the first of which shows the record's position in the input."""
    return ascii_lowercase[index % 26] + "".join(rng.choices("xyz", k=rng.choice((0, 0, 1, 2))))


def capitals(rng: Random, index: int) -> str:
    """As `letters`, in capitals, to distinguish them from the other side of a join."""
    return letters(rng, index).upper()


def few_letters(rng: Random, index: int) -> str:  # noqa: ARG001
    """One to three letters out of few, so that values repeat."""
    return "".join(rng.choices("pqr", k=rng.choice((1, 1, 2, 3))))


def grouped(rng: Random, index: int) -> str:
    """A "group:item" out of few groups; rarely one without a group."""
    return f"{rng.choice(('A', 'A', 'B', 'B', 'C', 'null'))}:{ascii_lowercase[index % 26]}"


def few_groups(rng: Random, index: int) -> str:  # noqa: ARG001
    """As `grouped`, with few items, so that values repeat."""
    return f"{rng.choice('AABBC')}:{rng.choice('xy')}"


def grouped_or_nothing(rng: Random, index: int) -> str:
    """As `grouped`, sometimes without an item, or "skip:..." for rows that are not grouped."""
    return rng.choice((grouped(rng, index), grouped(rng, index), f"{rng.choice('AB')}:", f"skip:{index}"))


def animals(rng: Random, index: int) -> str:  # noqa: ARG001
    return f"{rng.choice(('zoo1', 'zoo2'))}:{rng.choice(('tiger', 'lion', 'owl'))}"


def words(rng: Random, index: int) -> str:  # noqa: ARG001
    """Zero to four words separated by blanks."""
    return " ".join(rng.choices(("to", "be", "or", "not"), k=rng.randrange(5)))


def deletable(rng: Random, index: int) -> str:
    """One to three letters, or "del", which deletes the aggregate."""
    return "del" if rng.random() < 0.25 else letters(rng, index)


def numbers(rng: Random, index: int) -> str:  # noqa: ARG001
    """A whole number as text, sometimes a negative one."""
    return str(rng.randrange(-20, 100))


def orders(rng: Random, index: int) -> str:  # noqa: ARG001
    """Commands for the processor `Obedient`."""
    at = rng.randrange(200)
    return rng.choice(("all", f"at {at}", "only first", "only second", f"only second at {at}", f"burst {at}"))


def uses(rng: Random, index: int) -> str:
    """Commands for the processor `Bounded`."""
    value = letters(rng, index)
    return rng.choice((value, value, "get", f"if {value}"))


@dataclass(frozen=True)
class Lane:
    """One input topic: its keys and values."""

    topic: str = "in"
    keys: tuple[str, ...] = ("a", "b", "c")
    values: ValueMaker = letters


@dataclass(frozen=True)
class Shape:
    """What the records of a random scenario look like.

    `unit_ms` is the usual distance in time between records; records older than `reach_ms` should be late. `jump` is the
    share of records that are far ahead, `advance` the share of steps that advance the wall clock instead of piping a
    record.
    """

    lanes: tuple[Lane, ...] = (Lane(),)
    length: int = 30
    unit_ms: int = 10
    reach_ms: int = 60
    null_key: float = 0.06
    null_value: float = 0.08
    jump: float = 0.03
    advance: float = 0.0

    @classmethod
    def of(cls, values: ValueMaker, **options: Any) -> Self:
        """A single topic with these values."""
        return cls((Lane(values=values),), **options)

    def but(self, **options: Any) -> Self:
        return replace(self, **options)

    def records(self, rng: Random) -> list[Step]:
        """The steps of one scenario."""
        steps: list[Step] = []
        now = rng.randrange(0, self.unit_ms)
        for index in range(self.length):
            if rng.random() < self.advance:
                steps.append(["@advance", rng.choice((1, 3, 7, 10, 25))])
                continue
            now, timestamp_ms = self._time(rng, now)
            lane = rng.choice(self.lanes)
            key = None if rng.random() < self.null_key else rng.choice(lane.keys)
            value = None if rng.random() < self.null_value else lane.values(rng, index)
            steps.append([lane.topic, key, value, timestamp_ms])
        return steps

    def _time(self, rng: Random, now: int) -> tuple[int, int]:
        """The highest time so far after this record, and the record's own timestamp."""
        if rng.random() < self.jump:
            now += rng.randrange(self.reach_ms, 3 * self.reach_ms)
            return now, now
        chance = rng.random()
        if chance < 0.47:
            now += rng.randrange(0, self.unit_ms)
            return now, now
        if chance < 0.62:
            return now, now
        if chance < 0.85:
            return now, max(0, now - rng.randrange(0, 2 * self.unit_ms))
        if chance < 0.96:
            return now, max(0, now - rng.randrange(0, self.reach_ms))
        return now, rng.randrange(0, now + 1)


def out_of_order_only(rng: Random) -> list[Step]:
    """For "merge-order": after its first record every key only has earlier timestamps."""
    steps: list[Step] = [["in", key, "first", 1000 + number] for number, key in enumerate("abc")]
    steps += [["in", rng.choice("abc"), letters(rng, index), rng.randrange(0, 1000)] for index in range(20)]
    return steps
