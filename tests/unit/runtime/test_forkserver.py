"""The processes that are forked for Spark end with the driver and with the JVM, whatever they are doing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time

import pytest

from tests.support.processes import is_running, kill

_WITHIN_S = 60
_GONE_WITHIN_S = 15

# The process between driver and launcher stands for the JVM.
_DRIVER = """
    import subprocess, sys, time
    from pathlib import Path
    from headrace._runtime.spark.session.forkserver import launcher

    python = launcher()
    while not Path(python).with_name("socket").exists():
        time.sleep(0.01)
    run = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    jvm = subprocess.Popen([sys.executable, "-c", run, python, "-m", "endless", sys.argv[1]])
    Path(sys.argv[1], "jvm").write_text(str(jvm.pid))
    time.sleep(600)
"""
_ENDLESS = """
    import os, sys, time
    from pathlib import Path

    Path(sys.argv[1], "starting").write_text(str(os.getpid()))
    Path(sys.argv[1], "starting").rename(Path(sys.argv[1], "forked"))
    time.sleep(600)
"""


@pytest.mark.parametrize("victim", ["driver", "jvm"])
def test_forked_process_ends_when_the_driver_or_the_jvm_is_killed(tmp_path, victim):
    (tmp_path / "driver.py").write_text(textwrap.dedent(_DRIVER))
    (tmp_path / "endless.py").write_text(textwrap.dedent(_ENDLESS))
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    driver = subprocess.Popen(
        [sys.executable, tmp_path / "driver.py", tmp_path], env={**os.environ, "PYTHONPATH": paths}
    )
    pids = {"driver": driver.pid}
    try:
        await_true(lambda: (tmp_path / "forked").exists(), _WITHIN_S)
        pids |= {name: int((tmp_path / name).read_text()) for name in ("jvm", "forked")}
        assert is_running(pids["forked"])
        kill(pids[victim])
        await_true(lambda: not is_running(pids["forked"]), _GONE_WITHIN_S)
    finally:
        kill(*pids.values())
        driver.wait()


def await_true(condition, within_s):
    ends_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < ends_s
        time.sleep(0.02)
