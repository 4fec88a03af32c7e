"""Secrets in the settings are in no command line, query plan, event log, output or stored file."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

import headrace as hr

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

PASSWORD = "wonderland"  # of the broker's secure listener
CANARY = "canary-93ae"
FILES = ("state", "local", "events", "stderr.txt")

_APPLICATION = """
    import contextlib, io, json, os, sys
    from pathlib import Path
    from pyspark.sql import SparkSession
    import headrace as hr
    from tests.support.processes import command, descendants
    from tests.support.runtimes import FAST_START

    directory, servers = Path(sys.argv[1]), sys.argv[2]
    secrets = password, canary = [Path(directory, name).read_text() for name in ("password", "canary")]
    alice = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice"}
    events = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (directory / "events").as_uri()}
    hidden = {"spark.hadoop.fs.s3a.secret.key": canary, "spark.ssl.keyPassword": canary + chr(92) + "é = #"}
    config = hr.StreamsConfig(
        application_id="secrets",
        bootstrap_servers=servers,
        kafka={**alice, "sasl.password": password},
        state_dir=directory / "state",
        local_dir=directory / "local",
        spark={**FAST_START, **events, **hidden},
    )
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
    app = hr.Streams(builder.build(), config)
    app.start()
    spark = SparkSession.builder.getOrCreate()
    [query] = spark.streams.active
    plan = io.StringIO()
    with contextlib.redirect_stdout(plan):
        query.explain(True)
    commands = [command(pid).decode() for pid in [os.getpid(), *descendants(os.getpid())]]
    app.stop()
    app.process_available()
    given = spark.sparkContext.getConf()
    print(json.dumps({
        "commands": [line for line in commands if any(secret in line for secret in secrets)],
        "plan": [secret for secret in secrets if secret in plan.getvalue()],
        "java": any("java" in line for line in commands),
        "given": all(given.get(name) == value for name, value in hidden.items()),
    }))
"""


def test_secrets_of_the_settings_are_visible_nowhere(tmp_path, broker, topics):
    topics.create("in", partitions=1)
    topics.produce("in", [hr.Record("a", 1, 1)])
    (tmp_path / "events").mkdir()
    (tmp_path / "password").write_text(PASSWORD)
    (tmp_path / "canary").write_text(CANARY)
    (tmp_path / "application.py").write_text(textwrap.dedent(_APPLICATION))
    command = [sys.executable, tmp_path / "application.py", tmp_path, broker.secure_servers]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    (tmp_path / "stderr.txt").write_bytes(done.stderr)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == {"commands": [], "plan": [], "java": True, "given": True}
    assert topics.read("out", value_serde=hr.serdes.Long()) == [hr.Record("a", 1, 1)]
    files = [file for name in FILES for file in (tmp_path / name, *(tmp_path / name).rglob("*")) if file.is_file()]
    assert any(file.is_relative_to(tmp_path / "events") for file in files)
    secrets = (PASSWORD.encode(), CANARY.encode())
    assert [str(file) for file in files if any(secret in file.read_bytes() for secret in secrets)] == []
