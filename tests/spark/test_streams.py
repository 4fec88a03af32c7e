"""`Streams` as users call it: runs, restarts, reads of stores, their own sessions, Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, serdes
from headrace._runtime.spark.session.forkserver import launcher
from tests.spark.waiting import wait_until_caught_up
from tests.support.runtimes import SparkRuntime
from tests.support.topologies import word_letters

pytestmark = pytest.mark.spark


@pytest.fixture
def runtime(spark, tmp_path):
    return SparkRuntime(spark, tmp_path, partitions=3)


def lines(*texts, first=0):
    return [("lines", f"k{i}", text, first + i) for i, text in enumerate(texts)]


def test_further_calls_and_new_objects_continue_where_the_last_one_stopped(runtime):
    topology = word_letters()
    runtime.produce(topology, lines("ant bee", "ant"))
    app = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    app.process_available()
    app.process_available()
    runtime.produce(topology, lines("bee ant", first=10))
    hr.Streams(topology, runtime.config(), spark=runtime.spark).process_available()
    counts = {
        key: [(r.value, r.timestamp_ms) for r in runtime.outputs(topology)["word-counts"] if r.key == key]
        for key in ("ant", "bee")
    }
    assert counts == {"ant": [(1, 0), (2, 1), (3, 10)], "bee": [(1, 0), (2, 10)]}


def test_stores_show_the_last_committed_state_with_timestamps(runtime):
    topology = word_letters()
    runtime.produce(topology, lines("ant bee cat", "ant"))
    # Some of Spark's readers cannot open a path with such characters.
    config = runtime.config(state_dir=runtime.directory / "my state [100%]")
    app = hr.Streams(topology, config, spark=runtime.spark)
    assert list(app.store("words").all()) == []
    app.process_available()
    words = app.store("words")
    assert list(words.all()) == [("ant", 2), ("bee", 1), ("cat", 1)]
    assert (words.get("ant"), words.get("nothing")) == (2, None)
    assert list(words.range("b", "cat")) == [("bee", 1), ("cat", 1)]
    assert words.get_with_timestamp("ant").timestamp_ms == 1
    assert app.store("letters").get("b") == ["bee=1"]
    with pytest.raises(
        hr.StateError, match=r"There is no store 'word'. Did you mean 'words'\? Known stores: 'letters', 'words'"
    ):
        app.store("word")


def test_running_application_processes_what_arrives_and_stops(runtime):
    topology = word_letters()
    runtime.produce(topology, lines("ant"))
    app = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    app.start()
    try:
        assert app.await_termination(timedelta(seconds=0.1)) is False
        wait_until_caught_up(app)
        runtime.produce(topology, lines("ant", first=5))
        wait_until_caught_up(app)
        assert app.store("words").get("ant") == 2
        with pytest.raises(
            hr.StreamsError, match=r"process_available\(\) was called while application 'test' is running"
        ):
            app.process_available()
    finally:
        app.stop()
    assert runtime.outputs(topology)["word-counts"] == [Record("ant", 1, 0), Record("ant", 2, 5)]


def test_records_produced_while_it_runs_are_each_counted_once_and_in_order(runtime):
    builder = hr.StreamsBuilder()
    builder.stream("in", value_serde=serdes.Long()).group_by_key().aggregate(
        list, lambda key, value, seen: [*seen[-1:], value]
    ).to_stream().to("out")
    topology = builder.build()
    runtime.topics.create("in", partitions=3)
    app = hr.Streams(topology, runtime.config(max_records_per_batch=50), spark=runtime.spark)
    app.start()
    try:
        for number in range(60):
            batch = [Record(f"k{key}", number * 5 + i, number) for key in range(4) for i in range(5)]
            runtime.topics.produce("in", batch, value_serde=serdes.Long())
        wait_until_caught_up(app)
    finally:
        app.stop()
    found = {key: [r.value[-1] for r in runtime.outputs(topology)["out"] if r.key == key] for key in ("k0", "k3")}
    assert found == {"k0": list(range(300)), "k3": list(range(300))}


@pytest.mark.slow
def test_metrics_count_every_record_once_despite_restarts(runtime):
    topology = word_letters()
    runtime.produce(topology, lines("ant bee", "ant"))
    hr.Streams(topology, runtime.config(max_records_per_batch=1), spark=runtime.spark).process_available()
    runtime.produce(topology, lines("cow", first=9))
    app = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    app.process_available()
    metrics = app.metrics()
    assert metrics["KSTREAM-SOURCE-0000000000"] == {"records_in": 3}
    assert metrics["words-repartition-source"] == {"records_in": 4}
    assert metrics["topic word-counts"] == {"records_out": 4}


def test_session_settings_of_the_user_are_restored(runtime):
    before = dict(runtime.spark.conf.getAll)
    runtime.produce(word_letters(), lines("ant"))
    hr.Streams(word_letters(), runtime.config(), spark=runtime.spark).process_available()
    assert dict(runtime.spark.conf.getAll) == before


@pytest.mark.slow
def test_replicas_may_be_deleted_at_any_time(runtime):
    import shutil

    topology = word_letters()
    for round_number in range(3):
        runtime.produce(topology, lines("ant bee", first=round_number * 10))
        hr.Streams(topology, runtime.config(), spark=runtime.spark).process_available()
        shutil.rmtree(runtime.directory / "local")
    counts = [(r.key, r.value) for r in runtime.outputs(topology)["word-counts"]]
    assert sorted(counts) == [("ant", 1), ("ant", 2), ("ant", 3), ("bee", 1), ("bee", 2), ("bee", 3)]


def test_programs_that_an_application_starts_do_not_use_its_workers_python(spark):
    assert spark.sparkContext.pythonExec == launcher()
    assert os.environ.get("PYSPARK_PYTHON") != launcher()


@pytest.mark.slow
def test_runs_on_spark_connect(tmp_path):
    code = f"""
        from pathlib import Path
        from pyspark.sql import SparkSession
        import headrace as hr
        from headrace import serdes
        from tests.support.runtimes import SparkRuntime
        from tests.support.topologies import word_letters

        spark = SparkSession.builder.remote("local[2]").getOrCreate()
        runtime = SparkRuntime(spark, Path({str(tmp_path)!r}), partitions=2)
        topology = word_letters()
        runtime.produce(topology, [("lines", "k", "ant bee", 3), ("lines", "k", "ant", 2)])
        app = hr.Streams(topology, runtime.config(), spark=spark)
        app.process_available()
        counts = sorted((r.key, r.value, r.timestamp_ms) for r in runtime.outputs(topology)["word-counts"])
        assert counts == [("ant", 1, 3), ("ant", 2, 3), ("bee", 1, 3)], counts
        assert list(app.store("words").all()) == [("ant", 2), ("bee", 1)]
        spark.stop()
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]


def test_a_session_serves_applications_of_several_threads(runtime):
    topology = word_letters()
    runtime.produce(topology, lines("ant bee"))
    app = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(app.process_available).result()
    assert sorted(record.key for record in runtime.outputs(topology)["word-counts"]) == ["ant", "bee"]
