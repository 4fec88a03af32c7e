"""`headrace demo`: a tour through one application, from its input to its state, in two runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace._state.views.key_value import TimestampedKeyValueView
from headrace.cli.commands.run import create_streams
from headrace.cli.demos.guide import Guide, headline, introduce, run_with_spinner
from headrace.cli.demos.input import FIRST, SECOND, Reading, clock, input_rows
from headrace.cli.loading import LoadedApplication, load
from headrace.cli.output.console import console, table
from headrace.cli.output.values import format_value
from headrace.model.record import Record
from headrace.topics.embedded.topics import LocalTopics

Rooms = TimestampedKeyValueView[Any, Any]

_QUESTION = "Sensors report temperatures. How cold and how warm is it in each room?"
_FIRST_RESULT = """\
Each reading updated its room, except the one of the broken sensor, which was
filtered out. The late reading counts like any other, but the timestamp of the
room stays at the highest seen: time does not go back."""
_SECOND_RESULT = """\
The counts and the timestamps of the rooms continued where the first run
stopped. Input offsets, state and output are committed together, so neither a
restart nor a crash loses or repeats a reading."""
_NEXT = """\
headrace store {directory}/demo.py rooms --key kitchen
headrace topics consume room-climate --topics-dir {directory}/topics
headrace describe {directory}/demo.py --format html --output demo.html
echo 'cellar-1:{{"room": "cellar", "celsius": 30}}' | headrace topics produce readings --topics-dir {directory}/topics
headrace run {directory}/demo.py --until-caught-up"""


class _Tour:
    def __init__(self, directory: Path) -> None:
        self._file = directory / "demo.py"
        self._topics = LocalTopics(directory / "topics")
        self._screen = console()
        self._latest: dict[str, str] = {}
        self._seen: dict[str, list[Record[Any, Any]]] = {}

    def run(self) -> None:
        self._topics.create("readings", partitions=2)
        loaded = load(str(self._file))
        headline("The application")
        introduce(_QUESTION, loaded)
        headline("First run")
        self._run(loaded, "The topic readings has these records, in this order:", FIRST)
        self._screen.print(_FIRST_RESULT)
        headline("Second run")
        rooms = self._run(loaded, "Spark was stopped. Meanwhile more readings arrived, one of them late:", SECOND)
        self._screen.print(_SECOND_RESULT)
        headline("The store rooms")
        self._screen.print("The state of the application, one row per room:")
        rows = [(key, format_value(value), _time(rooms, key)) for key, value in rooms.all()]
        self._screen.print(table(("key", "value", "timestamp"), rows))

    def _run(self, loaded: LoadedApplication, story: str, readings: list[Reading]) -> Rooms:
        self._screen.print(story)
        rows = input_rows(readings, self._latest)
        self._screen.print(table(("sensor", "room", "°C", "measured", ""), rows, right=("°C",)))
        self._topics.produce("readings", [reading.record() for reading in readings])
        rooms = self._process(loaded)
        self._screen.print("Spark has processed them. New records in the topic room-climate:")
        self._screen.print(table(("key", "value", "timestamp", ""), self._new_updates()))
        return rooms

    def _process(self, loaded: LoadedApplication) -> Rooms:
        streams = create_streams(loaded, loaded.configured())

        def process() -> Rooms:
            streams.process_available()
            rooms: Rooms = streams.store("rooms")
            streams.stop()
            return rooms

        return run_with_spinner(process, "Starting Spark and processing the readings; this takes some seconds")

    def _new_updates(self) -> Iterator[tuple[str, str, str, str]]:
        """Rows for the output records since the last call. An update whose timestamp did not rise is marked as late."""
        updates: dict[str, list[Record[Any, Any]]] = {}
        for record in self._topics.read("room-climate"):
            updates.setdefault(record.key, []).append(record)
        for key, records in updates.items():
            known = self._seen.get(key, [])
            for before, record in zip([None, *records], records, strict=False):
                late = before is not None and before.timestamp_ms == record.timestamp_ms
                if record not in known:
                    assert record.timestamp_ms is not None
                    yield key, format_value(record.value), clock(record.timestamp_ms), "late" if late else ""
        self._seen = updates


def _time(rooms: Rooms, key: str) -> str:
    found = rooms.get_with_timestamp(key)
    return "" if found is None else clock(found.timestamp_ms)


GUIDE = Guide("headrace demo", "demo.py", lambda directory: _Tour(directory).run(), _NEXT)
