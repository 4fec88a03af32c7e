"""`headrace demo`: a tour through one application, from its input to its state, in two runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace._state.views.key_value import ReadOnlyTimestampedStore
from headrace.cli.commands.run import prepared
from headrace.cli.demos.guide import Guide, headline, introduce, waited_for
from headrace.cli.demos.input import FIRST, SECOND, Reading, clock, input_rows
from headrace.cli.loading import Loaded, load
from headrace.cli.output.console import console, table
from headrace.cli.output.values import shown
from headrace.model.record import Record
from headrace.topics.embedded.topics import LocalTopics

Rooms = ReadOnlyTimestampedStore[Any, Any]

_QUESTION = "Sensors report temperatures. How cold and how warm is it in each room?"
_FIRST_RESULT = """\
Each reading gave an update of its room, but for the broken one, which was
filtered out. The late one counts like any other, but the room's timestamp
stays at the highest seen: time does not go back."""
_SECOND_RESULT = """\
The counts went on, and so did each room's time. Input offsets, state and
output are committed together, so a restart, or a crash, neither loses nor
repeats a reading."""
_NEXT = """\
headrace store {home}/demo.py rooms --key kitchen
headrace topics consume room-climate --topics-dir {home}/topics
headrace describe {home}/demo.py --format html --output demo.html
echo 'cellar-1:{{"room": "cellar", "celsius": 30}}' | headrace topics produce readings --topics-dir {home}/topics
headrace run {home}/demo.py --until-caught-up"""


class _Tour:
    def __init__(self, home: Path) -> None:
        self._file = home / "demo.py"
        self._topics = LocalTopics(home / "topics")
        self._screen = console()
        self._latest: dict[str, str] = {}
        self._seen: dict[str, list[Record[Any, Any]]] = {}

    def give(self) -> None:
        self._topics.create("readings", partitions=2)
        loaded = load(str(self._file))
        headline("The application")
        introduce(_QUESTION, loaded)
        headline("First run")
        self._run(loaded, "These readings wait in the topic readings, in this order:", FIRST)
        self._screen.print(_FIRST_RESULT)
        headline("Second run")
        rooms = self._run(loaded, "Spark was stopped. Meanwhile more readings came, one from before:", SECOND)
        self._screen.print(_SECOND_RESULT)
        headline("The store rooms")
        self._screen.print("What the application now knows, one row per room:")
        rows = [(key, shown(value), _time(rooms, key)) for key, value in rooms.all()]
        self._screen.print(table(("key", "value", "timestamp"), rows))

    def _run(self, loaded: Loaded, story: str, readings: list[Reading]) -> Rooms:
        self._screen.print(story)
        rows = input_rows(readings, self._latest)
        self._screen.print(table(("sensor", "room", "°C", "measured", ""), rows, right=("°C",)))
        self._topics.produce("readings", [reading.record() for reading in readings])
        rooms = self._processed(loaded)
        self._screen.print("Spark has processed them. New in the topic room-climate:")
        self._screen.print(table(("key", "value", "timestamp", ""), self._new_updates()))
        return rooms

    def _processed(self, loaded: Loaded) -> Rooms:
        streams = prepared(loaded, loaded.configured())

        def process() -> Rooms:
            streams.process_available()
            rooms: Rooms = streams.store("rooms")
            streams.stop()
            return rooms

        return waited_for(process, "Spark starts and processes them; this takes some seconds")

    def _new_updates(self) -> Iterator[tuple[str, str, str, str]]:
        """Rows of what was written since the last call. An update whose time did not move came from a late reading."""
        updates: dict[str, list[Record[Any, Any]]] = {}
        for record in self._topics.read("room-climate"):
            updates.setdefault(record.key, []).append(record)
        for key, records in updates.items():
            known = self._seen.get(key, [])
            for before, record in zip([None, *records], records, strict=False):
                late = before is not None and before.timestamp_ms == record.timestamp_ms
                if record not in known:
                    assert record.timestamp_ms is not None
                    yield key, shown(record.value), clock(record.timestamp_ms), "late" if late else ""
        self._seen = updates


def _time(rooms: Rooms, key: str) -> str:
    found = rooms.get_with_timestamp(key)
    return "" if found is None else clock(found.timestamp_ms)


GUIDE = Guide("headrace demo", "demo.py", lambda home: _Tour(home).give(), _NEXT)
