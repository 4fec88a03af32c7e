"""The application of `headrace demo sensors`: how warm was it at each device, in every five minutes of a day?

The devices were offline, and send the readings of a whole day at once, one device after the other.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import headrace as hr

HERE = Path(__file__).parent


def nothing() -> dict[str, Any]:
    """The climate of a window before its first reading."""
    return {"readings": 0, "total": 0.0}


def add(_device: str, celsius: float, climate: dict[str, Any]) -> dict[str, Any]:
    """The climate of a window after one more reading."""
    return {"readings": climate["readings"] + 1, "total": climate["total"] + celsius}


def summed_up(windowed: hr.Windowed[str], climate: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The final result of a window: its start, the number of readings, their mean."""
    readings = climate["readings"]
    celsius = round(climate["total"] / readings, 1)
    return windowed.key, {"from_ms": windowed.window.start_ms, "readings": readings, "celsius": celsius}


builder = hr.StreamsBuilder()
spans = hr.TimeWindows.of(timedelta(minutes=5), grace=timedelta(minutes=10))
(
    builder.stream("readings")
    # One row per device and five minutes. A window closes ten minutes after
    # its end; a reading that arrives later is dropped as late.
    .group_by_key()
    .windowed_by(spans)
    .aggregate(nothing, add, store="windows", name="climate")
    # Only final results: a row is held back until its window closes.
    .suppress(hr.Suppressed.until_window_closes(), name="final")
    .to_stream()
    .map(summed_up, name="summed-up")
    .to("climates")
)
topology = builder.build()

config = hr.StreamsConfig(
    application_id="headrace-sensors",
    topics_dir=HERE / "topics",
    state_dir=HERE / "state",
    allow_stream_time_key_tracking=True,
)
