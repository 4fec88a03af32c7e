"""`headrace demo`: a tour through one application, from its input to its state, in two runs."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from headrace._state.readonly import ReadOnlyTimestampedStore
from headrace.cli.background import Background
from headrace.cli.console import console, table
from headrace.cli.demo_input import FIRST, SECOND, Reading, clock, input_rows
from headrace.cli.errors import CommandError
from headrace.cli.loading import Loaded, load
from headrace.cli.run import prepared
from headrace.cli.sketch import sketch
from headrace.cli.values import shown
from headrace.record import Record
from headrace.topics.local import LocalTopics

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


def give(directory: Path | None, *, keep: bool) -> None:
    """Gives the tour in a directory; a temporary one is removed at the end unless it is to be kept."""
    if directory is not None and directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        message = f"{str(directory)!r} exists and is not an empty directory. Give the demo a new one."
        raise CommandError(message)
    home = directory or Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    kept = keep or directory is not None
    try:
        home.mkdir(parents=True, exist_ok=True)
        _Tour(home).give()
    finally:
        if not kept:
            shutil.rmtree(home, ignore_errors=True)
    _what_next(home, kept=kept)


class _Tour:
    def __init__(self, home: Path) -> None:
        self._file = home / "demo.py"
        self._topics = LocalTopics(home / "topics")
        self._screen = console()
        self._latest: dict[str, str] = {}
        self._seen: dict[str, list[Record[Any, Any]]] = {}

    def give(self) -> None:
        shutil.copyfile(Path(__file__).with_name("demo.py"), self._file)
        self._topics.create("readings", partitions=2)
        loaded = load(str(self._file))
        _headline("The application")
        self._introduce(loaded)
        _headline("First run")
        self._run(loaded, "These readings wait in the topic readings, in this order:", FIRST)
        self._screen.print(_FIRST_RESULT)
        _headline("Second run")
        rooms = self._run(loaded, "Spark was stopped. Meanwhile more readings came, one from before:", SECOND)
        self._screen.print(_SECOND_RESULT)
        _headline("The store rooms")
        self._screen.print("What the application now knows, one row per room:")
        rows = [(key, shown(value), _time(rooms, key)) for key, value in rooms.all()]
        self._screen.print(table(("key", "value", "timestamp"), rows))

    def _introduce(self, loaded: Loaded) -> None:
        code = self._file.read_text(encoding="utf-8")
        code = code[code.index("builder = ") : code.index("topology = ")].rstrip()
        fancy = Syntax(code, "python", theme="ansi_dark", background_color="default")
        self._screen.print(_QUESTION, "", fancy if self._screen.is_terminal else Text(code), "", sep="\n")
        self._screen.print("From topic to topic:", "", sketch(loaded.topology._graph), sep="\n")

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
            return rooms

        with self._screen.status("Spark starts and processes them; this takes some seconds"):
            work = Background(process)
            while not work.wait(0.1):
                pass
            rooms = work.result()
            streams.stop()
            return rooms

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


def _headline(text: str) -> None:
    screen = console()
    screen.print()
    screen.print(Rule(f"[bold]{text}", align="left") if screen.is_terminal else f"== {text} ==")
    screen.print()


def _what_next(home: Path, *, kept: bool) -> None:
    screen = console()
    _headline("What next")
    if kept:
        screen.print(f"Everything is in {home}: the application demo.py, its topics, its state. Try:\n")
    else:
        home = Path("my-demo")
        screen.print("Run it again in a directory of your own, and look around there:\n")
        screen.print(f"headrace demo --directory {home}", style="cyan", soft_wrap=True)
    screen.print(_NEXT.format(home=home), style="cyan", soft_wrap=True)
    activate = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("headrace") is None and activate.exists():
        shown = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        screen.print(f"\nThe command headrace is not on your PATH yet: source {shown}", soft_wrap=True)
