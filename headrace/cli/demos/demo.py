"""The demo application: how cold and how warm is it in each room?

Sensors measure temperatures. One that was offline sends what it measured later, so readings arrive out of order;
each carries the time it was measured at, and that is the time that counts.
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
    # Stateless: a broken sensor measures nothing.
    .filter(lambda _, reading: reading["celsius"] is not None, name="measured")
    # The key was the sensor and becomes the room, so readings are dealt anew: a repartition.
    .group_by(lambda _, reading: reading["room"], name="by-room")
    # Stateful: one row per room. Its timestamp is the highest of all readings in it.
    .aggregate(lambda: {"readings": 0}, add, store="rooms", name="climate")
    # Every change of a row is a record of the output.
    .to_stream()
    .to("room-climate")
)
topology = builder.build()

config = hr.StreamsConfig(application_id="headrace-demo", topics_dir=HERE / "topics", state_dir=HERE / "state")
