"""After a reset an application starts over: it processes all input again, and appends all output once more."""

from __future__ import annotations

import os

import pytest
from typer.testing import CliRunner

import headrace as hr
from headrace import serdes
from headrace.cli.commands.run import create_streams
from headrace.cli.loading import load
from headrace.cli.program import program

pytestmark = pytest.mark.spark

SOURCE = """\
import headrace as hr

builder = hr.StreamsBuilder()
numbers = builder.stream("numbers")
numbers.group_by_key().reduce(lambda total, number: total + number, store="totals").to_stream().to("sums")
numbers.group_by(lambda key, number: "odd" if number % 2 else "even").count(store="kinds").to_stream().to("kinds")
topology = builder.build()
"""

FIRST = [hr.Record("a", 1, 10), hr.Record("b", 2, 30), hr.Record("a", 3, 20)]
SUMS = [("a", 1, 10), ("b", 2, 30), ("a", 4, 20)]
KINDS = [("odd", 1, 10), ("even", 1, 30), ("odd", 2, 20)]
LATER = hr.Record("b", 5, 40)
ALL_SUMS, ALL_KINDS = [*SUMS, ("b", 7, 40)], [*KINDS, ("odd", 3, 40)]


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """Restores PYTHONPATH, by which the command line makes workers find the file."""
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))


def written(topics):
    """All records of both output topics, which have one partition."""
    read = [(topics.read("sums"), "sums"), (topics.read("kinds", value_serde=serdes.Long()), "kinds")]
    return {topic: [(r.key, r.value, r.timestamp_ms) for r in records] for records, topic in read}


def reset(app, *options):
    return CliRunner().invoke(program, ["reset", str(app), "--yes", *options])


def check_everything_is_processed_again(spark, topics, app, config):
    """Runs, resets and runs the application of a file again; returns the output of the reset."""
    topics.create("numbers", partitions=1)
    topics.produce("numbers", FIRST)
    create_streams(load(str(app)), config, spark).process_available()
    assert written(topics) == {"sums": SUMS, "kinds": KINDS}

    done = reset(app)
    assert (done.exit_code, done.stderr) == (0, "")
    assert not config.state_dir.exists()
    assert written(topics) == {"sums": SUMS, "kinds": KINDS}
    assert topics.read("numbers") == FIRST

    topics.produce("numbers", [LATER])
    again = create_streams(load(str(app)), config, spark)
    again.process_available()
    assert written(topics) == {"sums": [*SUMS, *ALL_SUMS], "kinds": [*KINDS, *ALL_KINDS]}
    assert list(again.store("totals").all()) == [("a", 4), ("b", 7)]
    return done.stdout


@pytest.mark.slow
def test_reset_application_on_embedded_topics_processes_everything_again(spark, tmp_path):
    places = {name: str(tmp_path / name) for name in ("topics_dir", "state_dir", "local_dir")}
    app = tmp_path / "app.py"
    app.write_text(f"{SOURCE}config = hr.StreamsConfig(application_id='app', **{places!r})\n")
    config = load(str(app)).configured()
    topics = hr.LocalTopics(config.topics_dir)
    stdout = check_everything_is_processed_again(spark, topics, app, config)
    assert f"  - state directory '{config.state_dir}': offsets, stores, counters\n" in stdout


def test_running_application_is_not_reset(spark, tmp_path):
    places = {name: str(tmp_path / name) for name in ("topics_dir", "state_dir", "local_dir")}
    app = tmp_path / "app.py"
    app.write_text(f"{SOURCE}config = hr.StreamsConfig(application_id='app', **{places!r})\n")
    hr.LocalTopics(tmp_path / "topics_dir").create("numbers", partitions=1)
    streams = create_streams(load(str(app)), load(str(app)).configured(), spark)
    streams.start()
    refused = reset(app)
    streams.stop()
    assert (refused.exit_code, "Application 'app' is running on" in refused.stderr) == (1, True)
    assert reset(app).exit_code == 0
    assert not (tmp_path / "state_dir").exists()
