"""The input of `headrace demo sensors`: each device sends a day of readings, one device after the other."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import cos, pi

from headrace.model.record import Record

DEVICES = tuple(f"device-{number:02}" for number in range(1, 21))
MINUTE_MS = 60_000
MINUTES = 24 * 60
MIDNIGHT_MS = 1_748_736_000_000  # 2025-06-01, UTC
_DISORDER_MINUTES = 5


def readings() -> Iterator[Record[str, float]]:
    """The readings of all devices, in the order of arrival."""
    for device in DEVICES:
        yield from of_device(device)


def of_device(device: str) -> list[Record[str, float]]:
    """One reading per minute, warmest in the afternoon, up to five minutes out of order."""
    rng = random.Random(device)  # noqa: S311 - the same readings every time
    mean = rng.uniform(12, 22)
    day = [
        Record(device, round(mean - 4 * cos(2 * pi * (minute - 180) / MINUTES) + rng.gauss(0, 0.3), 1), _at(minute))
        for minute in range(MINUTES)
    ]
    arrival = {minute: minute + rng.uniform(0, _DISORDER_MINUTES) for minute in range(MINUTES)}
    return [day[minute] for minute in sorted(arrival, key=arrival.__getitem__)]


def _at(minute: int) -> int:
    return MIDNIGHT_MS + minute * MINUTE_MS
