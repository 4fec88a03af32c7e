"""The input of `headrace demo`: readings of a few sensors in two rooms, not always in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from headrace.model.record import Record


class Reading(NamedTuple):
    """A temperature that a sensor measured at a time of day. `celsius` is `None` if the sensor is broken."""

    clock: str
    sensor: str
    room: str
    celsius: float | None

    def record(self) -> Record[str, dict[str, Any]]:
        at = datetime.fromisoformat(f"2025-06-01T{self.clock}+00:00")
        return Record(self.sensor, {"room": self.room, "celsius": self.celsius}, int(at.timestamp()) * 1000)


FIRST = [
    Reading("10:00:00", "kitchen-1", "kitchen", 21.0),
    Reading("10:00:05", "cellar-1", "cellar", 11.5),
    Reading("10:00:10", "kitchen-2", "kitchen", 22.5),
    Reading("10:00:15", "cellar-1", "cellar", None),
    Reading("10:00:30", "kitchen-1", "kitchen", 23.0),
    Reading("10:00:20", "kitchen-1", "kitchen", 19.5),
    Reading("10:00:40", "cellar-1", "cellar", 12.0),
]
SECOND = [
    Reading("10:00:25", "kitchen-2", "kitchen", 24.5),
    Reading("10:00:50", "cellar-1", "cellar", 11.0),
    Reading("10:00:55", "kitchen-1", "kitchen", 21.5),
]


def input_rows(readings: Iterable[Reading], latest: dict[str, str]) -> Iterator[tuple[str, str, str, str, str]]:
    """The rows of a table of readings; `latest` has the highest time of each room so far, and is updated."""
    for reading in readings:
        late = reading.clock < latest.get(reading.room, "")
        latest[reading.room] = max(reading.clock, latest.get(reading.room, ""))
        remark = "broken" if reading.celsius is None else "late" if late else ""
        celsius = "" if reading.celsius is None else f"{reading.celsius:.1f}"
        yield reading.sensor, reading.room, celsius, reading.clock, remark


def clock(timestamp_ms: int) -> str:
    """The time of day of a timestamp."""
    return f"{datetime.fromtimestamp(timestamp_ms / 1000, UTC):%H:%M:%S}"
