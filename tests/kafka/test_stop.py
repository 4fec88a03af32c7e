"""SIGTERM to `headrace run` on Kafka: the current batch is committed, no other begins, the next run continues."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

import headrace as hr
from tests.spark.test_cli import COMMAND, without_seconds

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

APP = """\
import time
from pathlib import Path

import headrace as hr


def patiently(value):
    # Keeps the batch open until the test lets it finish.
    if value == 2:
        Path("begun").touch()
        until_s = time.monotonic() + 300
        while not Path("go-on").exists() and time.monotonic() < until_s:
            time.sleep(0.05)
    return value


builder = hr.StreamsBuilder()
counts = builder.stream("numbers").map_values(patiently).group_by_key().count(store="counts")
counts.to_stream().to("counted")
topology = builder.build()
config = hr.StreamsConfig(
    application_id="counting", max_records_per_batch=2, processing_guarantee="at_least_once",
    spark={"spark.master": "local[2]"},
)
"""


def wait_for(condition, what, within_s=300):
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s, f"{what} did not happen within {within_s} s"
        time.sleep(0.05)


def counted(topics):
    return [
        (record.key, record.value, record.timestamp_ms) for record in topics.read("counted", None, hr.serdes.Long())
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guarantee", "options"),
    [
        ("exactly_once_v2", []),
        # Without transactions an aborted batch would be noticed: its output would be written again.
        ("at_least_once", []),
        ("exactly_once_v2", ["--until-caught-up"]),
    ],
)
def test_terminated_application_finishes_its_batch_and_the_next_run_continues_after_it(
    topics, broker, tmp_path, guarantee, options
):
    (tmp_path / "app.py").write_text(APP.replace("at_least_once", guarantee))
    topics.create("numbers", partitions=1)
    topics.produce("numbers", [hr.Record("a", number, number) for number in range(1, 7)])
    command = [*COMMAND, "run", "app.py", "--bootstrap-servers", broker.bootstrap_servers]
    with (tmp_path / "stderr").open("w") as stderr:
        running = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=tmp_path)
        wait_for((tmp_path / "begun").exists, "a batch")
        running.send_signal(signal.SIGTERM)
        wait_for(lambda: "stopping after this batch" in (tmp_path / "stderr").read_text(), "a word about the signal")
        (tmp_path / "go-on").touch()
        printed, _ = running.communicate(timeout=300)
    summary = "counting stopped: 2 records in, 2 out, 1 batch in T s; 4 remain for the next run.\n"
    assert (without_seconds(printed), running.returncode) == (summary, 0)
    assert counted(topics) == [("a", 1, 1), ("a", 2, 2)]

    done = subprocess.run([*command, "--until-caught-up"], capture_output=True, text=True, cwd=tmp_path, check=False)
    summary = "counting caught up: 4 records in, 4 out, 2 batches in T s.\n"
    assert (without_seconds(done.stdout), done.returncode) == (summary, 0)
    assert counted(topics) == [("a", number, number) for number in range(1, 7)]
