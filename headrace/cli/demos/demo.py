"""The demo application: how cold and how warm is it in each room?

Sensors measure temperatures. A sensor that was offline sends its readings later, so readings arrive out of order. The
timestamp of a reading is the time when it was measured, not when it arrived.
"""

from pathlib import Path
from typing import Any

import headrace as hr

HERE = Path(__file__).parent


def add(_room: str, reading: dict[str, Any], climate: dict[str, Any]) -> dict[str, Any]:
    """The climate of a room after one more reading."""
    celsius = reading["celsius"]
    return {
        "readings": climate["readings"] + 1,
        "coldest": min(celsius, climate.get("coldest", celsius)),
        "warmest": max(celsius, climate.get("warmest", celsius)),
    }


builder = hr.StreamsBuilder()
(
    builder.stream("readings")
    # Stateless: drop the readings of broken sensors.
    .filter(lambda _, reading: reading["celsius"] is not None, name="measured")
    # The key was the sensor and becomes the room, so the stream is repartitioned.
    .group_by(lambda _, reading: reading["room"], name="by-room")
    # Stateful: one row per room. Its timestamp is the highest of all its readings.
    .aggregate(lambda: {"readings": 0}, add, store="rooms", name="climate")
    # Every change of a row becomes a record of the output topic.
    .to_stream()
    .to("room-climate")
)
topology = builder.build()

config = hr.StreamsConfig(application_id="headrace-demo", topics_dir=HERE / "topics", state_dir=HERE / "state")
