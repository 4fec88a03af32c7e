"""`headrace reset` without Spark: what it deletes, what it leaves alone, whom it refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import headrace as hr
from headrace._runtime.spark import manifest as manifests
from headrace._runtime.spark.presence import Presence, nobody_runs
from headrace._state.replica import replicas_of
from tests.unit.test_cli import app, headrace

CONFIG = hr.StreamsConfig(application_id="app", topics_dir="topics", local_dir="local")
STATE = CONFIG.state_dir
SOURCE = """\
import headrace as hr

builder = hr.StreamsBuilder()
builder.stream("words").group_by_key().count(store="counts").to_stream().to("totals")
topology = builder.build()
config = hr.StreamsConfig(application_id="app", topics_dir="topics", local_dir="local")
"""


@pytest.fixture(autouse=True)
def in_new_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app(SOURCE)


def ran():
    """Leaves what a run leaves; gives its manifest."""
    manifest = manifests.next_start(manifests.new(CONFIG, 2), (), {})
    manifests.save(CONFIG, manifest)
    (STATE / "checkpoint" / "state").mkdir(parents=True)
    (STATE / "checkpoint" / "state" / "1.delta").touch()
    for name in ("counters.json", "counters.17.new", "alarm.json", "finish", "finish.17.new", "headrace.17.new"):
        (STATE / name).touch()
    replicas_of(manifest.instance, "local").mkdir(parents=True)
    return manifest


def told(manifest, then):
    return (
        "To reset application 'app', this is deleted:\n"
        "  - state directory 'headrace-state/app': checkpoint, stores, counters\n"
        f"  - copies of the stores on this machine: 'local/headrace-replicas/{manifest.instance}'\n"
        "Topics are kept: input 'words'; output 'totals'. The next run reads its input from the beginning, and appends "
        f"its output once more.\n{then}"
    )


def files():
    return sorted(str(path) for path in Path().rglob("*") if path.is_file() and "__pycache__" not in str(path))


def test_confirmed_reset_deletes_state_and_replicas_and_keeps_topics():
    hr.LocalTopics("topics").create("words")
    kept = files()
    manifest = ran()
    asked = told(manifest, "Delete it? [y/N]: ")
    assert headrace("reset", "app.py", stdin="y\n") == (f"{asked}y\nApplication 'app' is reset.\n", "", 0)
    assert (files(), STATE.exists()) == (kept, False)


@pytest.mark.parametrize(("options", "stdin"), [(("--dry-run",), None), ((), "n\n"), ((), "")])
def test_nothing_is_deleted_unless_it_is_confirmed(options, stdin):
    manifest = ran()
    before = files()
    stdout, _, code = headrace("reset", "app.py", *options, stdin=stdin)
    assert stdout.startswith(told(manifest, ""))
    assert (files(), code) == ([*before, str(STATE / "running.lock")] if not options else before, 0 if options else 1)


def test_application_that_never_ran_has_nothing_to_reset():
    nothing = "Nothing to reset: application 'app' has no state in 'headrace-state/app'.\n"
    assert headrace("reset", "app.py") == (nothing, "", 0)


def test_directory_of_another_application_is_refused_and_left_alone():
    ran()
    before = files()
    message = (
        "state_dir 'headrace-state/app' belongs to application 'app', not to 'other'. Give each application a "
        "state_dir of its own."
    )
    named = ("--application-id", "other", "--state-dir", "headrace-state/app")
    assert headrace("reset", "app.py", "--yes", *named) == ("", f"✗ StateError\n{message}\n", 1)
    assert files() == before


def test_directory_that_no_application_wrote_is_refused_and_left_alone():
    Path("home").mkdir()
    Path("home/letter.txt").touch()
    _, stderr, code = headrace("reset", "app.py", "--yes", "--state-dir", "home")
    assert ("'home' is not empty and holds no headrace.json" in stderr, code) == (True, 1)
    assert Path("home/letter.txt").exists()


def test_files_that_are_not_the_applications_stay_and_are_told():
    ran()
    (STATE / "notes.txt").touch()
    stdout, _, code = headrace("reset", "app.py", "--yes")
    assert "\nIn the state directory 'notes.txt' stays too: move it away before the next run.\n" in stdout
    assert (code, [path.name for path in STATE.iterdir()]) == (0, ["notes.txt"])


def test_reset_that_was_cut_short_is_completed_by_the_next():
    ran()
    (STATE / "checkpoint").rename(STATE / "checkpoint.discarded")
    assert headrace("reset", "app.py", "--yes")[2] == 0
    assert not STATE.exists()


def test_running_application_is_refused_until_it_leaves_or_is_killed():
    ran()
    before = files()
    presences = [Presence(STATE), Presence(STATE)]  # starts do not keep each other out
    for presence in presences:
        presence.enter()
        presence.enter()
    who = f"process {os.getpid()} on {os.uname().nodename}"
    message = f"Application 'app' is running on 'headrace-state/app' ({who}). Stop it first."
    assert headrace("reset", "app.py", "--yes") == ("", f"✗ StateError\n{message}\n", 1)
    presences[0].leave()
    assert headrace("reset", "app.py", "--yes")[2] == 1
    presences[1].leave()
    assert files() == [*before, str(STATE / "running.lock")]

    code = f"""
from pathlib import Path
from headrace._runtime.spark.presence import Presence
Presence(Path({str(STATE)!r})).enter()
print(flush=True)
input()
"""
    held = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    held.stdout.readline()
    assert headrace("reset", "app.py", "--yes")[2] == 1
    held.send_signal(signal.SIGKILL)
    held.communicate()
    assert headrace("reset", "app.py", "--yes")[2] == 0
    assert not STATE.exists()


def test_start_waits_for_a_reset_and_is_then_seen_by_the_next():
    ran()
    presence = Presence(STATE)
    with nobody_runs("app", STATE):
        start = threading.Thread(target=presence.enter)
        start.start()
        wait_until(lambda: opened(STATE / "running.lock") == 2)
        (STATE / "running.lock").unlink()
    start.join()
    assert headrace("reset", "app.py", "--yes")[2] == 1
    presence.leave()
    assert headrace("reset", "app.py", "--yes")[2] == 0


def opened(path):
    """How many descriptors this process has of a file."""
    found = [entry.readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return found.count(path.absolute())


def wait_until(condition, within_s=30):
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_start_from_before_a_reset_can_no_longer_write():
    manifest = ran()
    manifests.refuse_fenced(str(STATE), manifest.instance, 1)
    assert headrace("reset", "app.py", "--yes")[2] == 0
    with pytest.raises(hr.StateError, match="was reset: this start of it ends without writing"):
        manifests.refuse_fenced(str(STATE), manifest.instance, 1)
    ran()
    with pytest.raises(hr.StateError, match="was reset"):
        manifests.refuse_fenced(str(STATE), manifest.instance, 1)
