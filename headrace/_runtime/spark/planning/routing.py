"""Which Spark partition a task lands in: Spark's own hash of the grouping key, so that tasks spread evenly."""

from __future__ import annotations

from itertools import count

_MASK = 0xFFFFFFFF


def spark_hash(value: int, seed: int = 42) -> int:
    """Spark's `hash(int)`: Murmur3 of four bytes, as a signed number."""
    mixed = (value * 0xCC9E2D51) & _MASK
    mixed = (_rotated(mixed, 15) * 0x1B873593) & _MASK
    result = (_rotated(seed ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    result ^= 4
    result = ((result ^ (result >> 16)) * 0x85EBCA6B) & _MASK
    result = ((result ^ (result >> 13)) * 0xC2B2AE35) & _MASK
    result ^= result >> 16
    return result - (1 << 32) if result >= 1 << 31 else result


def routes(tasks: int, spark_partitions: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Grouping keys: one per task, dealt evenly over Spark's partitions, and one per partition for passing through."""
    needed = [1 + tasks // spark_partitions + (tasks % spark_partitions > home) for home in range(spark_partitions)]
    found: list[list[int]] = [[] for _ in range(spark_partitions)]
    for candidate in count():
        home = found[spark_hash(candidate) % spark_partitions]
        home.append(candidate)
        if all(len(keys) >= wanted for keys, wanted in zip(found, needed, strict=True)):
            break
    passing = tuple(keys[0] for keys in found)
    return tuple(found[task % spark_partitions][1 + task // spark_partitions] for task in range(tasks)), passing


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK
