"""`headrace demo sensors`: a day of readings from each device, with one clock for all devices and a clock for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from headrace.cli.commands.run import create_streams
from headrace.cli.demos.guide import Guide, headline, introduce, run_with_spinner
from headrace.cli.demos.sensors_input import DEVICES, MIDNIGHT_MS, MINUTE_MS, MINUTES, readings
from headrace.cli.loading import LoadedApplication, load
from headrace.cli.output.console import console, pluralize, table
from headrace.model.record import Record
from headrace.streams import Streams
from headrace.topics.embedded.topics import LocalTopics

_QUESTION = f"""\
{len(DEVICES)} devices measured the temperature every minute, but were offline all day. Now
they are back online, and one after the other sends the readings of its whole
day. How warm was it at each of them, in every five minutes?"""
_PROBLEM = """\
A window closes when stream time is ten minutes past its end. But whose time?
Kafka Streams has one clock per partition: the highest timestamp seen. The
first device advances it to 23:59, and there it stays: when the next device
starts at midnight, all windows of the day are already closed."""
_LOSS = """\
With one clock only {whole} of {devices} devices have results for the whole day: those that
came first in their partition. Nothing failed; the dropped readings are counted
as late in app.metrics(), under the operator climate. With a clock for each
device no reading was late: only a device's own readings closed its windows."""
_LAST_WINDOWS = """\
The last {open} windows of each device are still open for late readings. They close
when their device sends a later reading."""
_NEXT = f"""\
headrace topics consume climates --limit 10 --topics-dir {{directory}}/topics
headrace store {{directory}}/sensors.py final-store --key {DEVICES[1]}
headrace store {{directory}}/sensors.py climate-stream-time-table --limit 5
echo '{{{{"key": "{DEVICES[1]}", "value": 15.0, "timestamp_ms": {MIDNIGHT_MS + MINUTES * MINUTE_MS * 2}}}}}' \\
  | headrace topics produce readings --json --topics-dir {{directory}}/topics
headrace run {{directory}}/sensors.py --until-caught-up"""

_SHOWN_MINUTES = (0, 6 * 60, 12 * 60, 23 * 60 + 40, 23 * 60 + 45)


class Climate(NamedTuple):
    """The final result of a window."""

    readings: int
    celsius: float

    def __str__(self) -> str:
        return f"{self.celsius:.1f} °C, {pluralize(self.readings, 'reading')}"


WindowKey = tuple[str, int]


@dataclass(frozen=True)
class TourResult:
    """The results of one of the two runs; a window is given by its device and its start."""

    read: int
    late: int
    final: dict[WindowKey, Climate]
    waiting: dict[WindowKey, int]

    def of(self, window: WindowKey) -> str:
        if window in self.final:
            return str(self.final[window])
        return "still open" if window in self.waiting else "lost"

    @property
    def whole(self) -> int:
        """How many devices have results for the whole day: a device with its first window has all of them."""
        return sum((device, MIDNIGHT_MS) in self.final for device in DEVICES)


def run_tour(directory: Path) -> None:
    screen = console()
    loaded = load(str(directory / "sensors.py"))
    headline("The application")
    introduce(_QUESTION, loaded)
    headline("The readings")
    topics = LocalTopics(directory / "topics")
    topics.create("readings", partitions=4)
    topics.produce("readings", readings())
    shutil.copytree(directory / "topics", directory / "one-clock" / "topics")
    arrived = arrivals(topics.read("readings"))
    screen.print("The topic readings has all readings. The first devices in its partition 0:")
    screen.print(table(("device", "readings", "measured", "clock of partition 0"), arrival_rows(arrived[:3])))
    screen.print(_PROBLEM)
    headline("One clock, and a clock for each device")
    screen.print("The same readings, processed twice. The only difference is a setting:")
    screen.print("StreamsConfig(allow_stream_time_key_tracking=True)\n", style="cyan")
    one, each = _run_both(loaded, directory)
    screen.print(
        table(("", "one clock", "a clock for each"), figures(one, each), right=("one clock", "a clock for each"))
    )
    first, second = (device for device, _ in arrived[:2])
    screen.print(f"Some windows of {first}, which came first, and of {second}, which came second:")
    rows = (row for device in (first, second) for row in window_rows(device, one, each))
    screen.print(table(("device", "window", "one clock", "a clock for each"), rows))
    screen.print(_LOSS.format(whole=one.whole, devices=len(DEVICES)), "", sep="\n")
    screen.print(_LAST_WINDOWS.format(open=len(each.waiting) // len(DEVICES)))


def arrivals(records: Sequence[Record[Any, Any]]) -> list[tuple[str, int]]:
    """The devices of partition 0 in the order of arrival, with the number of their readings."""
    number: dict[str, int] = {}
    for record in records:
        if record.partition == 0:
            number[record.key] = number.get(record.key, 0) + 1
    return list(number.items())


def arrival_rows(arrived: Sequence[tuple[str, int]]) -> Iterator[tuple[str, str, str, str]]:
    day = f"{time_of_day(0)} to {time_of_day(MINUTES - 1)}"
    for index, (device, number) in enumerate(arrived):
        yield device, f"{number:,}", day, f"stays at {time_of_day(MINUTES - 1)}" if index else f"advances {day}"


def figures(one: TourResult, each: TourResult) -> Iterator[tuple[str, str, str]]:
    """Rows that compare the two runs: the readings, then what happened to them, then the number of windows."""
    for title, figure in (
        ("readings", lambda result: result.read),
        ("  dropped as late", lambda result: result.late),
        ("  in final results", lambda result: sum(climate.readings for climate in result.final.values())),
        ("  in windows still open", lambda result: sum(result.waiting.values())),
        ("final results", lambda result: len(result.final)),
        ("windows still open", lambda result: len(result.waiting)),
    ):
        yield title, f"{figure(one):,}", f"{figure(each):,}"


def window_rows(device: str, one: TourResult, each: TourResult) -> Iterator[tuple[str, str, str, str]]:
    for minute in _SHOWN_MINUTES:
        window = device, MIDNIGHT_MS + minute * MINUTE_MS
        yield device, f"{time_of_day(minute)} - {time_of_day(minute + 5)}", one.of(window), each.of(window)


def time_of_day(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _run_both(loaded: LoadedApplication, directory: Path) -> tuple[TourResult, TourResult]:
    one_clock_directory = directory / "one-clock"
    one_clock = loaded.configured(
        application_id="headrace-sensors-one-clock",
        topics_dir=one_clock_directory / "topics",
        state_dir=one_clock_directory / "state",
        allow_stream_time_key_tracking=False,
    )
    first = create_streams(loaded, one_clock)
    one = run_with_spinner(
        lambda: _process(first, one_clock_directory / "topics"),
        "Starting Spark and processing the readings with one clock; this takes some seconds",
    )
    second = create_streams(loaded, loaded.configured(), first._application.spark)
    each = run_with_spinner(
        lambda: _process(second, directory / "topics"), "Processing the readings with a clock for each device"
    )
    first.stop()
    return one, each


def _process(streams: Streams, topics_dir: Path) -> TourResult:
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


GUIDE = Guide("headrace demo sensors", "sensors.py", run_tour, _NEXT)
