"""Grouping keys for frames, chosen so that Spark's hash spreads tasks evenly over its partitions."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

_MASK = 0xFFFFFFFF


class Routes(NamedTuple):
    """The grouping keys of a stage: one for each task, and one per Spark partition for frames that pass through."""

    tasks: tuple[int, ...]
    pass_through: tuple[int, ...]


def spark_hash(value: int, seed: int = 42) -> int:
    """Spark's `hash(int)`: Murmur3 of four bytes, as a signed number."""
    mixed = (value * 0xCC9E2D51) & _MASK
    mixed = (_rotate(mixed, 15) * 0x1B873593) & _MASK
    result = (_rotate(seed ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    result ^= 4
    result = ((result ^ (result >> 16)) * 0x85EBCA6B) & _MASK
    result = ((result ^ (result >> 13)) * 0xC2B2AE35) & _MASK
    result ^= result >> 16
    return result - (1 << 32) if result >= 1 << 31 else result


def choose_routes(tasks: int, spark_partitions: int) -> Routes:
    """Chooses grouping keys: tries one integer after the other until every Spark partition has as many as it needs."""
    needed = [
        1 + tasks // spark_partitions + (tasks % spark_partitions > partition) for partition in range(spark_partitions)
    ]
    keys: list[list[int]] = [[] for _ in range(spark_partitions)]
    for candidate in count():
        keys[spark_hash(candidate) % spark_partitions].append(candidate)
        if all(len(hashed) >= number for hashed, number in zip(keys, needed, strict=True)):
            break
    return Routes(
        tasks=tuple(keys[task % spark_partitions][1 + task // spark_partitions] for task in range(tasks)),
        pass_through=tuple(hashed[0] for hashed in keys),
    )


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK
