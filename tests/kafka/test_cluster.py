"""Applications on a real Spark cluster: a master and two workers, topics on a broker.

All are slow tests: each of them starts five to seven JVMs.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import headrace as hr
from headrace import serdes
from headrace._core.partitioning import partition_for
from headrace.testing import TopologyTestDriver
from tests.support.standalone import StandaloneCluster

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

APP = Path(__file__).parents[1] / "support" / "submitted.py"
TEXT = {"value_serde": serdes.String()}
LONG = {"value_serde": serdes.Long()}


@pytest.fixture
def cluster(tmp_path):
    started = StandaloneCluster(tmp_path / "cluster")
    started.start()
    yield started
    started.stop()


def lines(count, first=0):
    texts = ("to be or not to be", "be it so", "so what")
    return [hr.Record(f"k{n % 5}", texts[n % 3], 10 * n + 1) for n in range(first, first + count)]


def expected(records):
    """The output of the test driver for the same lines, by partition of two."""
    with TopologyTestDriver(runpy.run_path(str(APP))["topology"]()) as driver:
        for line in records:
            driver.input_topic("lines", **TEXT).pipe(line.key, line.value, line.timestamp_ms)
        counts = driver.output_topic("counts").read_all()
    return sorted(counts, key=lambda count: partition_for(count.key.encode(), 2))


def tasks_by_executor(directory):
    """How many tasks each executor has completed, from Spark's event log."""
    events = [json.loads(line) for file in directory.rglob("events_*") for line in file.read_text().splitlines()]
    ended = [event["Task Info"] for event in events if event["Event"] == "SparkListenerTaskEnd"]
    return Counter(task["Executor ID"] for task in ended if not task["Failed"])


def test_submitted_application_runs_in_executors_of_both_workers(cluster, topics, broker, tmp_path):
    topics.create("lines", partitions=2)
    topics.produce("lines", lines(12), **TEXT)
    (tmp_path / "events").mkdir()
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false"}
    logged["spark.eventLog.dir"] = (tmp_path / "events").as_uri()
    submitted = cluster.submit(APP, broker.bootstrap_servers, str(tmp_path / "state"), **logged)
    stdout, stderr = submitted.communicate(timeout=300)
    assert (stdout, submitted.returncode) == ("done\n", 0), stderr[-5000:]
    assert topics.read("counts", **LONG) == expected(lines(12))
    worker_of = {work.name: number for number in (0, 1) for work in (cluster.worker(number) / "work").glob("app-*/*")}
    assert {worker_of[executor] for executor in tasks_by_executor(tmp_path / "events")} == {0, 1}
    copies = [list((cluster.worker(number) / "tmp").glob("headrace-*/replicas/*/*/live-*")) for number in (0, 1)]
    assert all(copies)


def test_application_survives_a_killed_executor(cluster, topics, broker, tmp_path):
    topics.create("lines", partitions=2)
    topics.produce("lines", lines(60), **TEXT)
    submitted = cluster.submit(APP, broker.bootstrap_servers, str(tmp_path / "state"), "6")
    wait_until(lambda: "counts" in topics.list() and sum(topics.describe("counts").end_offsets) > 10)
    cluster.kill_executor(0)
    stdout, stderr = submitted.communicate(timeout=300)
    assert (stdout, submitted.returncode) == ("done\n", 0), stderr[-5000:]
    assert "ExecutorLostFailure" in stderr or "Lost executor" in stderr
    assert topics.read("counts", **LONG) == expected(lines(60))


def test_application_on_spark_connect_continues_where_a_submitted_one_stopped(cluster, topics, broker, tmp_path):
    topics.create("lines", partitions=2)
    topics.produce("lines", lines(7), **TEXT)
    submitted = cluster.submit(APP, broker.bootstrap_servers, str(tmp_path / "state"))
    assert submitted.communicate(timeout=300)[0] == "done\n"
    topics.produce("lines", lines(5, first=7), **TEXT)
    client = subprocess.run(
        [sys.executable, str(APP), broker.bootstrap_servers, str(tmp_path / "state")],
        env={**os.environ, "SPARK_REMOTE": cluster.connect_server()},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (client.stdout, client.returncode) == ("done\n", 0), client.stderr[-5000:]
    assert topics.read("counts", **LONG) == expected(lines(12))


def wait_until(condition, within_s=240):
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.1)
