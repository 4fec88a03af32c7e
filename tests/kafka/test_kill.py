"""`kill -9` when a part of a batch is written but not committed: nothing is lost or written twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from headrace import serdes
from tests.kafka.test_streams import of_each_key
from tests.spark.test_kill import lines, reference
from tests.support import state_logs
from tests.support.processes import descendants, kill

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def start(directory, broker, max_records=20):
    command = [sys.executable, "-m", "tests.support.killable", "word_letters", str(directory), str(max_records)]
    return subprocess.Popen(
        [*command, broker.bootstrap_servers],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def notes(topics):
    """The end offsets of the topic in which tasks note the batches they have written."""
    name = "killable-headrace-commits"
    return topics.describe(name).end_offsets if name in topics.list() else ()


def kill_when_a_part_is_written(process, topics, directory, rng):
    """Kills the application; returns whether that left a batch that was planned but not committed."""
    before = None
    while process.poll() is None:
        found = notes(topics)
        begun = state_logs.newest_begun(directory / "state")
        before = before or (found, begun)
        if begun > before[1] and found != before[0]:
            break
        if begun == before[1]:
            before = (found, begun)
        time.sleep(0.005)
    time.sleep(rng.choice([0, 0, 0.05, 0.3]))
    kill(process.pid, *descendants(process.pid))
    process.communicate()
    return state_logs.newest_begun(directory / "state") > state_logs.newest_committed(directory / "state")


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, 20])
def test_killed_application_writes_to_kafka_what_an_undisturbed_one_writes(topics, broker, spark, tmp_path, kills):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    topics.create("lines", partitions=4)
    topics.produce(
        "lines", [r.with_timestamp(r.timestamp_ms + 1) for r in lines(1, 40 * kills + 10)], value_serde=serdes.String()
    )
    rng = random.Random(seed)
    halves = 0
    for _ in range(kills):
        halves += kill_when_a_part_is_written(start(tmp_path / "killed", broker), topics, tmp_path / "killed", rng)
    final = start(tmp_path / "killed", broker, max_records=100 * kills)
    output, _ = final.communicate(timeout=600)
    assert output.split() == ["running", "done"]
    print(f"{halves} of {kills} kills left a batch for the next start")
    undisturbed = of_each_key(reference(spark, tmp_path / "undisturbed", kills))
    later = {key: [(value, time_ms + 1) for value, time_ms in rows] for key, rows in undisturbed.items()}
    assert of_each_key(topics) == later
