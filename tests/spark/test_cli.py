"""The command line as users run it, in real processes with real Spark. No noise of Spark's appears on stderr."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headrace as hr
from tests.support.runtimes import FAST_START

pytestmark = pytest.mark.spark

COMMAND = [sys.executable, "-c", "from headrace.cli import main; main()"]

APP = """\
import headrace as hr

builder = hr.StreamsBuilder()
(
    builder.stream("numbers")
    .map_values(lambda value: 60 // value, name="divide")
    .group_by(lambda key, value: key[0], name="by-letter")
    .reduce(lambda total, value: total + value, store="totals")
    .to_stream()
    .to("sums")
)
topology = builder.build()
config = hr.StreamsConfig(application_id="sums", spark={"spark.master": "local[2]"})
"""

LINES = """\
{"key": "a1", "value": 1, "timestamp_ms": 1000}
{"key": "b1", "value": 2, "timestamp_ms": 3000}
{"key": "a2", "value": 0, "timestamp_ms": 2000}
{"key": "a1", "value": 3, "timestamp_ms": 4000}
"""

DEMO = """\

== The application ==

Sensors report temperatures. How cold and how warm is it in each room?

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

The topology, from input topic to output topic:

topic readings
└── measured  filter
    └── by-room  select key
        └── repartition by-room-repartition
            └── climate  aggregate  store rooms
                └── to stream
                    └── topic room-climate

== First run ==

The topic readings has these records, in this order:

 sensor      room        °C   measured
 ──────────────────────────────────────────────
 kitchen-1   kitchen   21.0   10:00:00
 cellar-1    cellar    11.5   10:00:05
 kitchen-2   kitchen   22.5   10:00:10
 cellar-1    cellar           10:00:15   broken
 kitchen-1   kitchen   23.0   10:00:30
 kitchen-1   kitchen   19.5   10:00:20   late
 cellar-1    cellar    12.0   10:00:40

Spark has processed them. New records in the topic room-climate:

 key       value                                               timestamp
 ──────────────────────────────────────────────────────────────────────────────
 kitchen   {"readings": 1, "coldest": 21.0, "warmest": 21.0}   10:00:00
 kitchen   {"readings": 2, "coldest": 21.0, "warmest": 22.5}   10:00:10
 kitchen   {"readings": 3, "coldest": 21.0, "warmest": 23.0}   10:00:30
 kitchen   {"readings": 4, "coldest": 19.5, "warmest": 23.0}   10:00:30    late
 cellar    {"readings": 1, "coldest": 11.5, "warmest": 11.5}   10:00:05
 cellar    {"readings": 2, "coldest": 11.5, "warmest": 12.0}   10:00:40

Each reading updated its room, except the one of the broken sensor, which was
filtered out. The late reading counts like any other, but the timestamp of the
room stays at the highest seen: time does not go back.

== Second run ==

Spark was stopped. Meanwhile more readings arrived, one of them late:

 sensor      room        °C   measured
 ────────────────────────────────────────────
 kitchen-2   kitchen   24.5   10:00:25   late
 cellar-1    cellar    11.0   10:00:50
 kitchen-1   kitchen   21.5   10:00:55

Spark has processed them. New records in the topic room-climate:

 key       value                                               timestamp
 ──────────────────────────────────────────────────────────────────────────────
 kitchen   {"readings": 5, "coldest": 19.5, "warmest": 24.5}   10:00:30    late
 kitchen   {"readings": 6, "coldest": 19.5, "warmest": 24.5}   10:00:55
 cellar    {"readings": 3, "coldest": 11.0, "warmest": 12.0}   10:00:50

The counts and the timestamps of the rooms continued where the first run
stopped. Input offsets, state and output are committed together, so neither a
restart nor a crash loses or repeats a reading.

== The store rooms ==

The state of the application, one row per room:

 key       value                                               timestamp
 ───────────────────────────────────────────────────────────────────────
 cellar    {"readings": 3, "coldest": 11.0, "warmest": 12.0}   10:00:50
 kitchen   {"readings": 6, "coldest": 19.5, "warmest": 24.5}   10:00:55


== What next ==

Everything is in my-demo: the application demo.py, its topics, its state. Try:

headrace store my-demo/demo.py rooms --key kitchen
headrace topics consume room-climate --topics-dir my-demo/topics
headrace describe my-demo/demo.py --format html --output demo.html
echo 'cellar-1:{"room": "cellar", "celsius": 30}' | headrace topics produce readings --topics-dir my-demo/topics
headrace run my-demo/demo.py --until-caught-up
"""

TWO_DAYS_ON = '{"key": "device-02", "value": 15.0, "timestamp_ms": 1748908800000}\n'

SENSORS_DEMO = """\

== The application ==

20 devices measured the temperature every minute, but were offline all day. Now
they are back online, and one after the other sends the readings of its whole
day. How warm was it at each of them, in every five minutes?

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

The topology, from input topic to output topic:

topic readings
└── climate  windowed aggregate  store windows
    └── final  suppress  store final-store
        └── to stream
            └── summed-up  map
                └── topic climates

== The readings ==

The topic readings has all readings. The first devices in its partition 0:

 device      readings   measured         clock of partition 0
 ───────────────────────────────────────────────────────────────
 device-03   1,440      00:00 to 23:59   advances 00:00 to 23:59
 device-04   1,440      00:00 to 23:59   stays at 23:59
 device-05   1,440      00:00 to 23:59   stays at 23:59

A window closes when stream time is ten minutes past its end. But whose time?
Kafka Streams has one clock per partition: the highest timestamp seen. The
first device advances it to 23:59, and there it stays: when the next device
starts at midnight, all windows of the day are already closed.

== One clock, and a clock for each device ==

The same readings, processed twice. The only difference is a setting:
StreamsConfig(allow_stream_time_key_tracking=True)


                           one clock   a clock for each
 ──────────────────────────────────────────────────────
 readings                     28,800             28,800
   dropped as late            22,800                  0
   in final results            5,700             28,500
   in windows still open         300                300
 final results                 1,140              5,700
 windows still open               60                 60

Some windows of device-03, which came first, and of device-04, which came second:

 device      window          one clock             a clock for each
 ─────────────────────────────────────────────────────────────────────
 device-03   00:00 - 00:05   15.1 °C, 5 readings   15.1 °C, 5 readings
 device-03   06:00 - 06:05   15.1 °C, 5 readings   15.1 °C, 5 readings
 device-03   12:00 - 12:05   20.5 °C, 5 readings   20.5 °C, 5 readings
 device-03   23:40 - 23:45   15.4 °C, 5 readings   15.4 °C, 5 readings
 device-03   23:45 - 23:50   still open            still open
 device-04   00:00 - 00:05   lost                  12.0 °C, 5 readings
 device-04   06:00 - 06:05   lost                  12.2 °C, 5 readings
 device-04   12:00 - 12:05   lost                  17.8 °C, 5 readings
 device-04   23:40 - 23:45   lost                  12.4 °C, 5 readings
 device-04   23:45 - 23:50   still open            still open

With one clock only 4 of 20 devices have results for the whole day: those that
came first in their partition. Nothing failed; the dropped readings are counted
as late in app.metrics(), under the operator climate. With a clock for each
device no reading was late: only a device's own readings closed its windows.

The last 3 windows of each device are still open for late readings. They close
when their device sends a later reading.

== What next ==

Everything is in my-demo: the application sensors.py, its topics, its state. Try:

headrace topics consume climates --limit 10 --topics-dir my-demo/topics
headrace store my-demo/sensors.py final-store --key device-02
headrace store my-demo/sensors.py climate-stream-time-table --limit 5
echo '{"key": "device-02", "value": 15.0, "timestamp_ms": 1748908800000}' \\
  | headrace topics produce readings --json --topics-dir my-demo/topics
headrace run my-demo/sensors.py --until-caught-up
"""


@pytest.fixture(autouse=True)
def in_new_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", FAST_START["spark.driver.extraJavaOptions"])


def headrace(*arguments, stdin=""):
    """Runs a command; returns its stdout, stderr and exit code."""
    done = subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, text=True, timeout=300, check=False)
    return trimmed(done.stdout), done.stderr, done.returncode


def trimmed(text):
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def without_seconds(text):
    return re.sub(r" in [\d.]+ s( \([\d,]+ records/s\))?", " in T s", text)


def test_demo_shows_two_runs_and_the_files_it_names_at_the_end_exist():
    assert headrace("demo", "--directory", "my-demo") == (DEMO, "", 0)
    assert sorted(path.name for path in Path("my-demo").iterdir() if path.name != "__pycache__") == [
        "demo.py",
        "state",
        "topics",
    ]


@pytest.mark.slow
def test_demo_of_sensors_shows_both_clocks_side_by_side():
    assert headrace("demo", "sensors", "--directory", "my-demo") == (SENSORS_DEMO, "", 0)
    headrace("topics", "produce", "readings", "--json", "--topics-dir", "my-demo/topics", stdin=TWO_DAYS_ON)
    stdout, _, code = headrace("run", "my-demo/sensors.py", "--until-caught-up")
    assert (without_seconds(stdout), code) == ("headrace-sensors caught up: 1 record in, 3 out, 1 batch in T s.\n", 0)


@pytest.mark.slow
def test_dead_letters_appear_in_the_summary_and_in_their_topic(tmp_path):
    handling = 'processing_exception_handler="dead_letter", dead_letter_topic="dead", spark='
    Path("app.py").write_text(APP.replace("spark=", handling))
    headrace("topics", "create", "numbers", "--partitions", "1")
    headrace("topics", "produce", "numbers", "--json", stdin=LINES)
    stdout, stderr, code = headrace("run", "app.py", "--until-caught-up")
    summary = "sums caught up: 4 records in, 3 out, 1 dead letter in 'dead', 1 batch in T s.\n"
    assert (without_seconds(stdout), code) == (summary, 0)
    assert (
        "Dropped (processing error), written to 'dead': divide failed on record numbers-0@2 (key 'a2', "
        "timestamp 2000), task 0_0: ZeroDivisionError: integer division or modulo by zero, "
        f"at {tmp_path}/app.py:6 in <lambda>"
    ) in stderr
    assert "[headrace.error.offset=2]" in headrace("topics", "consume", "dead")[0]


@pytest.mark.slow
def test_failing_function_is_reported_and_the_fixed_application_continues_exactly_once(tmp_path):
    Path("app.py").write_text(APP)
    headrace("topics", "create", "numbers", "--partitions", "1")
    headrace("topics", "produce", "numbers", "--json", stdin=LINES)
    assert headrace("run", "app.py", "--until-caught-up") == (
        "",
        "sums · starting Spark · 4 waiting\n"
        "sums · catching up · 4 waiting\n"
        "✗ ProcessingError\n"
        "divide failed on record numbers-0@2 (key 'a2', timestamp 2000), task 0_0: "
        "ZeroDivisionError: integer division or modulo by zero\n"
        f'  at {tmp_path}/app.py:6 in <lambda>: .map_values(lambda value: 60 // value, name="divide")\n'
        "processing_exception_handler='continue' or 'dead_letter' drops such records.\n",
        1,
    )
    Path("app.py").write_text(APP.replace("60 // value", "60 // value if value else -1"))
    stdout, _, code = headrace("run", "app.py", "--until-caught-up")
    assert (without_seconds(stdout), code) == ("sums caught up: 4 records in, 4 out, 1 batch in T s.\n", 0)
    assert headrace("topics", "consume", "sums") == (
        "   0        0  1970-01-01 00:00:01.000  a                 60\n"
        "   0        1  1970-01-01 00:00:03.000  b                 30\n"
        "   0        2  1970-01-01 00:00:02.000  a                 59\n"
        "   0        3  1970-01-01 00:00:04.000  a                 79\n",
        "",
        0,
    )
    assert headrace("store", "app.py", "totals") == (
        "\n"
        " key   value   timestamp (UTC)\n"
        " ─────────────────────────────────────\n"
        " a     79      1970-01-01 00:00:04.000\n"
        " b     30      1970-01-01 00:00:03.000\n"
        "\n"
        "2 entries.\n",
        "",
        0,
    )


def test_spark_that_does_not_start_names_the_settings_to_check():
    Path("app.py").write_text(APP.replace("local[2]", "locl[2]"))
    headrace("topics", "create", "numbers", "--partitions", "1")
    _, stderr, code = headrace("run", "app.py", "--until-caught-up")
    message = "Spark did not start; it wrote the reason to stderr. Check these settings of spark=: 'spark.master'."
    assert (stderr.endswith(f"✗ ConfigError\n{message}\n"), code) == (True, 1)
    assert "Master must either be yarn or start with spark, k8s, or local" in stderr


def test_terminated_application_finishes_its_batch_and_prints_a_summary():
    Path("app.py").write_text(
        APP.replace('name="divide")', 'name="divide")\n    .peek(lambda key, value: print("saw", key))')
    )
    headrace("topics", "create", "numbers", "--partitions", "1")
    headrace("topics", "produce", "numbers", stdin="a:5\nb:6\n")
    with subprocess.Popen([*COMMAND, "run", "app.py"], stdout=-1, stderr=-1, text=True) as running:
        wait_until_written("sums", 2)
        running.send_signal(signal.SIGTERM)
        stdout, stderr = running.communicate(timeout=120)
    assert (without_seconds(stdout), running.returncode) == ("sums stopped: 2 records in, 2 out, 1 batch in T s.\n", 0)
    assert [line for line in stderr.splitlines() if not line.startswith("sums · ")] == ["saw a", "saw b"]


def wait_until_written(topic, records, within_s=180):
    topics = hr.LocalTopics("topics")
    end_s = time.monotonic() + within_s
    while topic not in topics.list() or topics.describe(topic).records < records:
        assert time.monotonic() < end_s, f"{topic} was not written within {within_s} s"
        time.sleep(0.1)
