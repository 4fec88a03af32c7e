"""Settings for Spark's JVM are passed in a file, not on its command line."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from headrace._runtime.spark.session.submit import submit_settings


def test_settings_are_in_a_file_that_only_its_owner_can_read(monkeypatch):
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with submit_settings({"spark.a": "plain", "spark.b c": "é =\\#\n😀"}):
        option, name, *rest = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
        assert (option, rest) == ("--properties-file", ["--load-spark-defaults", "pyspark-shell"])
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
        assert Path(name).read_text("ascii").splitlines() == [
            "spark.a=plain",
            r"spark.b\u0020c=\u00e9\u0020\u003d\u005c\u0023\u000a\ud83d\ude00",
        ]
    assert not Path(name).exists()
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ


def test_arguments_of_the_user_are_kept(monkeypatch):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-memory 2g pyspark-shell")
    with submit_settings({}):
        assert os.environ["PYSPARK_SUBMIT_ARGS"].endswith("--load-spark-defaults --driver-memory 2g pyspark-shell")
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--driver-memory 2g pyspark-shell"
