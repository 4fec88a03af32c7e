"""The project that `headrace new` writes, by the commands of its Makefile, on Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from tests.support.runtimes import FAST_START

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TOTALS = {
    "ann": [({"orders": 1, "amount": 30}, 1764583200000), ({"orders": 2, "amount": 42}, 1764583230000)],
    "bob": [({"orders": 1, "amount": 5}, 1764583205000)],
    "cleo": [({"orders": 1, "amount": 7}, 1764583215000)],
}


def test_a_new_project_runs_on_spark_by_its_makefile(tmp_path):
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    command = bin_ / "headrace"
    command.write_text(f"#!{sys.executable}\nfrom headrace.cli import main\nmain()\n")
    command.chmod(0o755)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MAKE")},  # `make test` sets them
        "PATH": os.pathsep.join([str(bin_), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(Path(hr.__file__).parents[1]),
        "SPARK_SUBMIT_OPTS": FAST_START["spark.driver.extraJavaOptions"],
    }

    def call(*arguments, cwd=tmp_path):
        done = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    call("headrace", "new", "my-app")
    project = tmp_path / "my-app"
    call("make", "input", cwd=project)
    assert "my-app caught up: 5 records in, 4 out" in call("make", "run", cwd=project)
    written = {}
    for record in hr.LocalTopics(project / "data" / "topics").read("totals"):
        written.setdefault(record.key, []).append((record.value, record.timestamp_ms))
    assert written == TOTALS
    assert call("make", "output", cwd=project).count("\n") == 1 + sum(map(len, TOTALS.values()))
    assert '"amount": 42' in call("headrace", "store", "app.py", "totals", "--key", "ann", cwd=project)
