"""`headrace demo sensors`: a day of readings from each of many devices, with one clock for all and a clock for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from headrace.cli.commands.run import prepared
from headrace.cli.demos.guide import Guide, headline, introduce, waited_for
from headrace.cli.demos.sensors_input import DEVICES, MIDNIGHT_MS, MINUTE_MS, MINUTES, readings
from headrace.cli.loading import Loaded, load
from headrace.cli.output.console import console, counted, table
from headrace.model.record import Record
from headrace.streams import Streams
from headrace.topics.embedded.topics import LocalTopics

_QUESTION = f"""\
{len(DEVICES)} devices measured the temperature every minute, but were offline all day. Now
they are back, and one after the other sends its whole day. How warm was it at
each of them, in every five minutes?"""
_PROBLEM = """\
A window closes when time has come ten minutes beyond its end. But whose time?
Kafka Streams has one clock per partition: the highest timestamp seen. The
first device moves it through the day to 23:59, and there it stays: when the
next device begins with its midnight, the day is over."""
_LOSS = """\
With one clock only {whole} of {devices} devices have their day: those that came first in
their partition. Nothing failed, but each dropped reading is counted as late, in
app.metrics() under the operator climate. With a clock for each device none was
late: its windows closed as its own readings went on."""
_LAST_WINDOWS = """\
The last {open} windows of each device still wait for readings that may come late.
They close when their own device is heard of again."""
_NEXT = f"""\
headrace topics consume climates --limit 10 --topics-dir {{home}}/topics
headrace store {{home}}/sensors.py final-store --key {DEVICES[1]}
headrace store {{home}}/sensors.py climate-stream-time-table --limit 5
echo '{{{{"key": "{DEVICES[1]}", "value": 15.0, "timestamp_ms": {MIDNIGHT_MS + MINUTES * MINUTE_MS * 2}}}}}' \\
  | headrace topics produce readings --json --topics-dir {{home}}/topics
headrace run {{home}}/sensors.py --until-caught-up"""

_SHOWN_MINUTES = (0, 6 * 60, 12 * 60, 23 * 60 + 40, 23 * 60 + 45)


class Climate(NamedTuple):
    """What is known of a window."""

    readings: int
    celsius: float

    def __str__(self) -> str:
        return f"{self.celsius:.1f} °C, {counted(self.readings, 'reading')}"


Window = tuple[str, int]


@dataclass(frozen=True)
class TourResult:
    """What came of the readings in one of the two runs; windows by device and start."""

    read: int
    late: int
    final: dict[Window, Climate]
    waiting: dict[Window, int]

    def of(self, window: Window) -> str:
        if window in self.final:
            return str(self.final[window])
        return "still open" if window in self.waiting else "lost"

    @property
    def whole(self) -> int:
        """How many devices have their first window, so all of them."""
        return sum((device, MIDNIGHT_MS) in self.final for device in DEVICES)


def give(home: Path) -> None:
    screen = console()
    loaded = load(str(home / "sensors.py"))
    headline("The application")
    introduce(_QUESTION, loaded)
    headline("The readings")
    topics = LocalTopics(home / "topics")
    topics.create("readings", partitions=4)
    topics.produce("readings", readings())
    shutil.copytree(home / "topics", home / "one-clock" / "topics")
    arrived = arrivals(topics.read("readings"))
    screen.print("They wait in the topic readings. The first to arrive in its partition 0:")
    screen.print(table(("device", "readings", "measured", "the clock of partition 0"), arrival_rows(arrived[:3])))
    screen.print(_PROBLEM)
    headline("One clock, and a clock for each device")
    screen.print("The same readings, twice. The only difference is a setting:")
    screen.print("StreamsConfig(allow_stream_time_key_tracking=True)\n", style="cyan")
    one, each = _both(loaded, home)
    screen.print(
        table(("", "one clock", "a clock for each"), figures(one, each), right=("one clock", "a clock for each"))
    )
    first, second = (device for device, _ in arrived[:2])
    screen.print(f"A few windows of {first}, which came first, and of {second}, the next:")
    rows = (row for device in (first, second) for row in window_rows(device, one, each))
    screen.print(table(("device", "window", "one clock", "a clock for each"), rows))
    screen.print(_LOSS.format(whole=one.whole, devices=len(DEVICES)), "", sep="\n")
    screen.print(_LAST_WINDOWS.format(open=len(each.waiting) // len(DEVICES)))


def arrivals(records: Sequence[Record[Any, Any]]) -> list[tuple[str, int]]:
    """The devices of partition 0 in the order of their arrival, with the number of their readings."""
    number: dict[str, int] = {}
    for record in records:
        if record.partition == 0:
            number[record.key] = number.get(record.key, 0) + 1
    return list(number.items())


def arrival_rows(arrived: Sequence[tuple[str, int]]) -> Iterator[tuple[str, str, str, str]]:
    day = f"{time_of_day(0)} to {time_of_day(MINUTES - 1)}"
    for place, (device, number) in enumerate(arrived):
        yield device, f"{number:,}", day, f"stays at {time_of_day(MINUTES - 1)}" if place else f"goes {day}"


def figures(one: TourResult, each: TourResult) -> Iterator[tuple[str, str, str]]:
    """What became of the readings; below the first, each row is a part of it."""
    for title, figure in (
        ("readings", lambda outcome: outcome.read),
        ("  late, dropped", lambda outcome: outcome.late),
        ("  in final results", lambda outcome: sum(climate.readings for climate in outcome.final.values())),
        ("  in windows still open", lambda outcome: sum(outcome.waiting.values())),
        ("final results", lambda outcome: len(outcome.final)),
        ("windows still open", lambda outcome: len(outcome.waiting)),
    ):
        yield title, f"{figure(one):,}", f"{figure(each):,}"


def window_rows(device: str, one: TourResult, each: TourResult) -> Iterator[tuple[str, str, str, str]]:
    for minute in _SHOWN_MINUTES:
        window = device, MIDNIGHT_MS + minute * MINUTE_MS
        yield device, f"{time_of_day(minute)} - {time_of_day(minute + 5)}", one.of(window), each.of(window)


def time_of_day(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _both(loaded: Loaded, home: Path) -> tuple[TourResult, TourResult]:
    apart = home / "one-clock"
    one_clock = loaded.configured(
        application_id="headrace-sensors-one-clock",
        topics_dir=apart / "topics",
        state_dir=apart / "state",
        allow_stream_time_key_tracking=False,
    )
    first = prepared(loaded, one_clock)
    one = waited_for(
        lambda: _outcome(first, apart / "topics"),
        "Spark starts and processes them with one clock; this takes some seconds",
    )
    second = prepared(loaded, loaded.configured(), first._application.spark)
    each = waited_for(lambda: _outcome(second, home / "topics"), "Now with a clock for each device")
    first.stop()
    return one, each


def _outcome(streams: Streams, topics_dir: Path) -> TourResult:
    streams.process_available()
    waiting = {
        (row.key.key, row.key.window.start_ms): row.value["readings"] for row in streams.store("final-store").all()
    }
    final = {
        (record.key, record.value["from_ms"]): Climate(record.value["readings"], record.value["celsius"])
        for record in LocalTopics(topics_dir).read("climates")
    }
    metrics = streams.metrics()
    read = sum(counts.get("records_in", 0) for counts in metrics.values())
    return TourResult(read, metrics.get("climate", {}).get("dropped", {}).get("late", 0), final, waiting)


GUIDE = Guide("headrace demo sensors", "sensors.py", give, _NEXT)
