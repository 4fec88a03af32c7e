"""Random inputs that hurt: out of order, late, at equal times, far jumps, null keys and values, tombstones for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from string import ascii_lowercase

from conformance.order import Step

ValueMaker = Callable[[Random, int], str]


def letters(rng: Random, index: int) -> str:
    """One to three letters, the first of which tells the record's place in the input."""
    return ascii_lowercase[index % 26] + "".join(rng.choices("xyz", k=rng.choice((0, 0, 1, 2))))


def few_letters(rng: Random, index: int) -> str:  # noqa: ARG001
    """One to three letters out of few, so that values repeat."""
    return "".join(rng.choices("pqr", k=rng.choice((1, 1, 2, 3))))


def grouped(rng: Random, index: int) -> str:
    """A "group:item" out of few groups; rarely one without a group."""
    return f"{rng.choice(('A', 'A', 'B', 'B', 'C', 'null'))}:{ascii_lowercase[index % 26]}"


def grouped_or_nothing(rng: Random, index: int) -> str:
    """As `grouped`, sometimes with no item, or nothing to group at all."""
    return rng.choice((grouped(rng, index), grouped(rng, index), f"{rng.choice('AB')}:", f"skip:{index}"))


def animals(rng: Random, index: int) -> str:  # noqa: ARG001
    return f"{rng.choice(('zoo1', 'zoo2'))}:{rng.choice(('tiger', 'lion', 'owl'))}"


def words(rng: Random, index: int) -> str:  # noqa: ARG001
    """Zero to four words separated by blanks."""
    return " ".join(rng.choices(("to", "be", "or", "not"), k=rng.randrange(5)))


def deletable(rng: Random, index: int) -> str:
    """A letter, or the word that deletes."""
    return "del" if rng.random() < 0.25 else letters(rng, index)


def numbers(rng: Random, index: int) -> str:  # noqa: ARG001
    """A whole number as text, sometimes a negative one."""
    return str(rng.randrange(-20, 100))


@dataclass(frozen=True)
class Shape:
    """What the records of a random scenario look like.

    `unit_ms` is an ordinary distance in time; what is older than `reach_ms` should be late. `advance` is the share of
    steps that move the wall clock instead of piping a record.
    """

    topics: tuple[str, ...] = ("in",)
    keys: tuple[str, ...] = ("a", "b", "c")
    values: ValueMaker | tuple[ValueMaker, ...] = letters
    length: int = 30
    unit_ms: int = 10
    reach_ms: int = 60
    null_key: float = 0.06
    null_value: float = 0.08
    advance: float = 0.0

    def records(self, rng: Random) -> list[Step]:
        """The steps of one scenario."""
        steps: list[Step] = []
        now = rng.randrange(0, self.unit_ms)
        for index in range(self.length):
            if rng.random() < self.advance:
                steps.append(["@advance", rng.choice((1, 3, 7, 10, 25))])
                continue
            now, timestamp_ms = self._time(rng, now)
            lane = rng.randrange(len(self.topics))
            key = None if rng.random() < self.null_key else rng.choice(self.keys)
            value = None if rng.random() < self.null_value else self._maker(lane)(rng, index)
            steps.append([self.topics[lane], key, value, timestamp_ms])
        return steps

    def _maker(self, lane: int) -> ValueMaker:
        return self.values[lane] if isinstance(self.values, tuple) else self.values

    def _time(self, rng: Random, now: int) -> tuple[int, int]:
        """The clock after this record, and the record's own time."""
        chance = rng.random()
        if chance < 0.45:
            now += rng.randrange(0, self.unit_ms)
        elif chance < 0.60:
            return now, now
        elif chance < 0.82:
            return now, max(0, now - rng.randrange(0, 2 * self.unit_ms))
        elif chance < 0.93:
            return now, max(0, now - rng.randrange(0, self.reach_ms))
        elif chance < 0.97:
            return now, rng.randrange(0, now + 1)
        else:
            now += rng.randrange(self.reach_ms, 3 * self.reach_ms)
        return now, now


def out_of_order_only(rng: Random) -> list[Step]:
    """For "merge-order": after its first record every key only sees times before that one."""
    steps: list[Step] = [["in", key, "first", 1000 + place] for place, key in enumerate("abc")]
    steps += [["in", rng.choice("abc"), letters(rng, index), rng.randrange(0, 1000)] for index in range(20)]
    return steps
