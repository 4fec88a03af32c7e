"""No process of an application outlives its driver or its JVM, whatever it is doing."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time

import pytest

import headrace as hr
from tests.support.processes import command, descendants, is_running, kill

pytestmark = pytest.mark.spark

_WITHIN_S = 120
_GONE_WITHIN_S = 15

_ENDLESS = """
    import sys, time
    from pathlib import Path
    import headrace as hr
    from tests.support.runtimes import FAST_START

    directory = Path(sys.argv[1])

    def forever(value):
        (directory / "busy").touch()
        time.sleep(600)

    builder = hr.StreamsBuilder()
    builder.stream("in").map_values(forever).to("out")
    config = hr.StreamsConfig(
        application_id="endless",
        topics_dir=directory / "topics",
        state_dir=directory / "state",
        local_dir=directory / "local",
        spark=FAST_START,
    )
    app = hr.Streams(builder.build(), config)
    app.start()
    app.await_termination()
"""


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "jvm"])
def test_no_process_survives_a_killed_driver_or_jvm(tmp_path, victim):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    topics.produce("in", [hr.Record("k", 1, 1)])
    script = tmp_path / "endless.py"
    script.write_text(textwrap.dedent(_ENDLESS))
    with (tmp_path / "stderr.txt").open("wb") as stderr:
        driver = subprocess.Popen([sys.executable, script, tmp_path], stderr=stderr, start_new_session=True)
    below = []
    try:
        ends_s = time.monotonic() + _WITHIN_S
        while not (tmp_path / "busy").exists():
            assert driver.poll() is None, (tmp_path / "stderr.txt").read_text()
            assert time.monotonic() < ends_s
            time.sleep(0.05)
        below = descendants(driver.pid)
        [jvm] = [pid for pid in below if b"org.apache.spark.deploy.SparkSubmit" in command(pid)]
        kill(driver.pid if victim == "driver" else jvm)
        driver.wait(_WITHIN_S)
        ends_s = time.monotonic() + _GONE_WITHIN_S
        while any(map(is_running, below)) and time.monotonic() < ends_s:
            time.sleep(0.05)
        assert [command(pid) for pid in below if is_running(pid)] == []
    finally:
        kill(driver.pid, *below)
