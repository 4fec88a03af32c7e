"""A running application as other users of the machine see it: no secrets, no state, no way to run code in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.other_users import OTHER, as_user, needs_root, readable_files
from tests.support.processes import descendants

pytestmark = [pytest.mark.spark, needs_root]

CANARY = "canary-4711"
PAGES = ("environment/", "SQL/", "StreamingQuery/", "jobs/", "stages/", "executors/")


@pytest.fixture
def machine():
    """A temporary directory for everyone, in which another user has taken the names of our directories."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    for name in ("tmp", "home"):
        (root / name).mkdir()
    (root / "tmp").chmod(0o1777)
    taken = root / "tmp" / f"headrace-{os.getuid()}"
    as_user(OTHER, lambda: (taken / "bin").mkdir(parents=True))
    yield root
    # Processes of the application that are still ending remove files of their own.
    shutil.rmtree(root, ignore_errors=True)


@contextmanager
def running(machine, *arguments):
    """The process of the application, and what it has printed so far."""
    environment = {**os.environ, "TMPDIR": str(machine / "tmp"), "HOME": str(machine / "home")}
    environment.pop("XDG_CACHE_HOME", None)
    with (
        (machine / "stderr").open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.guarded", str(machine), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        ) as process,
    ):
        printed = []
        for line in process.stdout:
            printed.append(line.decode())
            if line == b"ready\n":
                break
        assert printed[-1:] == ["ready\n"], (machine / "stderr").read_text()
        yield process, printed
        process.stdin.close()
        assert process.wait(120) == 0
        assert (machine / "stderr").read_bytes() == b""


def commands(process):
    """The command lines of the application's child processes."""
    return [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in descendants(process.pid)]


def holders(text, files):
    return [path for path in files if path.is_file() and not path.is_symlink() and text.encode() in path.read_bytes()]


def check_that_others_see_neither_secrets_nor_state(machine, *broker):
    with running(machine, CANARY, *broker) as (process, printed):
        assert [command for command in commands(process) if CANARY in command] == []
        assert [line for line in printed if CANARY in line] == []
        for page in PAGES:
            with urllib.request.urlopen(f"{printed[0].strip()}/{page}") as answer:
                assert CANARY not in answer.read().decode(), page
        assert holders(CANARY, (machine / "state").rglob("*")) == []
        assert as_user(OTHER, lambda: readable_files(machine / "state")) == []
        seen = as_user(OTHER, lambda: readable_files(machine / "tmp"))
        assert [path for path in seen if path.is_file() and path.suffix not in (".so", ".lck")] == []  # Java libraries
    logs = [path for path in (machine / "events").rglob("*") if path.is_file()]
    assert logs
    assert holders(CANARY, logs) == []


@pytest.mark.slow
def test_secrets_and_state_are_not_seen_from_outside(machine):
    check_that_others_see_neither_secrets_nor_state(machine)
