"""`headrace reset` without Spark: what it deletes, what it leaves alone, when it refuses."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from headrace._graph.configured import configured
from headrace._runtime.spark.reset import find
from headrace._runtime.spark.starting import start
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.state_directory.presence import RunLock, exclusive_lock
from headrace._runtime.spark.topics.backend import backend_of
from headrace._state.log.entries import Commit
from headrace._state.log.objects import ObjectWriter
from headrace._state.log.state_log import TakenOverError
from headrace._state.replica.replica import replicas_of
from headrace.cli.loading import load
from headrace.topics.embedded.log import TopicLog
from tests.unit.cli.test_commands import app, headrace

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


def begin():
    return start(configured(load("app.py").topology._graph, CONFIG), CONFIG, "a run", lambda *_: (1, True))


def ran():
    """Creates the files that a run leaves behind; returns its plan."""
    hr.LocalTopics("topics").create("words", exist_ok=True)
    plan = begin()
    (STATE / "spark" / "1" / "offsets").mkdir(parents=True)
    for name in ("state/1-0-fused-aa", "log/.new-17-bb", "spark/1/offsets/0"):
        (STATE / name).touch()
    for name in ("finish", "finish.17.new", "pause", "pause.17.new"):
        (STATE / name).touch()
    replicas_of(plan.instance, "local").mkdir(parents=True)
    return plan


def announcement(plan, then):
    return (
        "Resetting application 'app' deletes:\n"
        "  - state directory 'headrace-state/app': offsets, stores, counters\n"
        f"  - copies of the stores on this machine: 'local/headrace-{os.getuid()}/replicas/{plan.instance}'\n"
        "Topics stay as they are: input 'words'; output 'totals'. The next run reads its input from the beginning, and "
        f"appends its output again.\n{then}"
    )


def files():
    return sorted(str(path) for path in Path().rglob("*") if path.is_file() and "__pycache__" not in str(path))


def test_confirmed_reset_deletes_state_and_replicas_and_keeps_topics():
    hr.LocalTopics("topics").create("words")
    kept = files()
    plan = ran()
    question = announcement(plan, "Delete? [y/N]: ")
    assert headrace("reset", "app.py", stdin="y\n") == (f"{question}y\nApplication 'app' is reset.\n", "", 0)
    assert (files(), STATE.exists()) == (kept, False)


def write_output(producer):
    """Writes a data file with one record of the topic `totals`, which is not committed; returns its runs."""
    bytes_ = pa.array([b"1"], pa.binary())
    with TopicLog("topics").writer(producer, 1) as writer:
        writer.write("totals", 0, pa.record_batch({"key": bytes_, "value": bytes_, "timestamp": pa.array([10])}))
        return writer.finish()


def producers():
    """The producers that have data files in the topics directory."""
    return sorted(path.name.rsplit("-", 2)[0] for path in Path("topics/segments").iterdir())


def test_reset_deletes_data_files_of_the_application_that_were_never_committed():
    for producer in (ran().instance, "another-instance"):
        write_output(producer)
    assert headrace("reset", "app.py", "--yes")[2] == 0
    assert producers() == ["another-instance"]


def test_reset_on_damaged_topics_leaves_the_data_files_and_names_them(caplog):
    plan = ran()
    write_output(plan.instance)
    log = Path("topics/commits.log")
    log.write_bytes(log.read_bytes().replace(b"words", b"sword", 1))
    output, error, code = headrace("reset", "app.py", "--yes")
    assert (output.endswith("Application 'app' is reset.\n"), error, code) == (True, "", 0)
    assert (STATE.exists(), producers()) == (False, [plan.instance])
    (warning,) = caplog.messages
    assert warning.startswith(
        f"Cannot delete the unpublished data files of application 'app'. The files '{plan.instance}-*.arrow' in "
        f"{str(Path('topics/segments').absolute())!r} stay. They only take space. "
        f"{str(log.absolute())!r} is damaged at byte 0: "
    )


@pytest.mark.parametrize(("options", "stdin"), [(("--dry-run",), None), ((), "n\n"), ((), "")])
def test_nothing_is_deleted_unless_it_is_confirmed(options, stdin):
    plan = ran()
    before = files()
    stdout, _, code = headrace("reset", "app.py", *options, stdin=stdin)
    assert stdout.startswith(announcement(plan, ""))
    lock = [] if options else [str(STATE / "running.lock")]
    assert (files(), code) == (sorted([*before, *lock]), 0 if options else 1)


def test_application_that_never_ran_has_nothing_to_reset():
    nothing = "Nothing to reset: application 'app' has no state in 'headrace-state/app'.\n"
    assert headrace("reset", "app.py") == (nothing, "", 0)


def test_directory_of_another_application_is_refused_and_left_alone():
    ran()
    before = files()
    message = (
        "state_dir 'headrace-state/app' belongs to application 'app', not to 'other'. Set state_dir to another "
        "directory: each application needs its own."
    )
    named = ("--application-id", "other", "--state-dir", "headrace-state/app")
    assert headrace("reset", "app.py", "--yes", *named) == ("", f"✗ StateError\n{message}\n", 1)
    assert files() == before


def test_directory_that_no_application_wrote_is_refused_and_left_alone():
    Path("home").mkdir()
    Path("home/letter.txt").touch()
    _, stderr, code = headrace("reset", "app.py", "--yes", "--state-dir", "home")
    assert ("'home' is not empty and has no state log" in stderr, code) == (True, 1)
    assert Path("home/letter.txt").exists()


def test_files_of_others_stay_and_are_named():
    ran()
    (STATE / "notes.txt").touch()
    stdout, _, code = headrace("reset", "app.py", "--yes")
    warning = (
        "\nThe state directory also contains 'notes.txt', which Headrace does not delete: move it away before the "
        "next run.\n"
    )
    assert warning in stdout
    assert (code, [path.name for path in STATE.iterdir()]) == (0, ["notes.txt"])


def interrupt_reset(monkeypatch, at_step):
    """Runs a reset and interrupts it at one of its deletions; returns False if there are fewer."""
    steps = itertools.count()

    def counted(step):
        def call(*arguments, **options):
            if next(steps) == at_step:
                raise KeyboardInterrupt
            return step(*arguments, **options)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", counted(shutil.rmtree))
        for name in ("rename", "unlink", "rmdir"):
            patched.setattr(Path, name, counted(getattr(Path, name)))
        try:
            find(CONFIG).delete()
        except KeyboardInterrupt:
            return True
    return False


def ran_with_unpublished_output():
    """Creates the files of a run that was killed before it published batch 0, and in the middle of writing batch 1."""
    plan = ran()
    output = backend_of(plan).output(write_output(plan.instance))
    state_log(plan).commit(current_view(plan), Commit(0, 5, {}, output=output))
    write_output(plan.instance)
    return plan


def test_reset_that_was_interrupted_anywhere_is_completed_by_the_next(monkeypatch):
    at_step, found = 0, []
    while ran_with_unpublished_output() and interrupt_reset(monkeypatch, at_step):
        _, stderr, code = headrace("reset", "app.py", "--yes")
        found.append((at_step, stderr, code, {path.name for path in STATE.glob("*")} - {"running.lock"}))
        shutil.rmtree(STATE, ignore_errors=True)
        at_step += 1
    assert found == [(step, "", 0, set()) for step in range(at_step)]


def test_application_whose_reset_was_interrupted_anywhere_continues_or_starts_from_the_beginning(monkeypatch):
    at_step, found, expected = 0, [], []
    while (plan := ran_with_unpublished_output()) and interrupt_reset(monkeypatch, at_step):
        keeps_log = (STATE / "log").exists()
        instance = begin().instance
        found.append((at_step, instance == plan.instance, sum(TopicLog("topics").end_offsets("totals"))))
        expected.append((at_step, keeps_log, int(keeps_log)))
        shutil.rmtree(STATE)
        shutil.rmtree("topics")
        at_step += 1
    assert found == expected
    assert {continued for _, continued, _ in found} == {False, True}


def test_running_application_is_not_reset_until_it_stops_or_is_killed():
    ran()
    before = files()
    locks = [RunLock(STATE), RunLock(STATE)]  # runs do not exclude each other
    for lock in locks:
        lock.acquire()
        lock.acquire()
    who = f"process {os.getpid()} on {os.uname().nodename}"
    message = f"Application 'app' is running on 'headrace-state/app' ({who}). Stop it first."
    assert headrace("reset", "app.py", "--yes") == ("", f"✗ StateError\n{message}\n", 1)
    locks[0].release()
    assert headrace("reset", "app.py", "--yes")[2] == 1
    locks[1].release()
    assert files() == sorted([*before, str(STATE / "running.lock")])

    code = f"""
from pathlib import Path
from headrace._runtime.spark.state_directory.presence import RunLock
RunLock(Path({str(STATE)!r})).acquire()
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


def test_start_waits_for_a_reset_and_blocks_the_next_one():
    ran()
    lock = RunLock(STATE)
    with exclusive_lock("app", STATE):
        start = threading.Thread(target=lock.acquire)
        start.start()
        wait_until(lambda: opened(STATE / "running.lock") == 2)
        (STATE / "running.lock").unlink()
    start.join()
    assert headrace("reset", "app.py", "--yes")[2] == 1
    lock.release()
    assert headrace("reset", "app.py", "--yes")[2] == 0


def opened(path):
    """The number of descriptors that this process has open on a file."""
    found = [entry.readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return found.count(path.absolute())


def wait_until(condition, within_s=30):
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_start_before_a_reset_can_no_longer_write():
    plan = ran()
    view = current_view(plan)
    log, commit = state_log(plan), Commit(0, 5, {})
    assert headrace("reset", "app.py", "--yes")[2] == 0
    said = "^Application 'app' on .* was reset: this start ends without writing"
    for write in (lambda: current_view(plan), lambda: log.commit(view, commit)):
        with pytest.raises(TakenOverError, match=said):
            write()
    again = ran()
    for write in (lambda: current_view(plan), lambda: log.commit(view, commit)):
        with pytest.raises(TakenOverError, match=said):
            write()
    assert current_view(again).number == 1


def test_object_of_a_start_before_a_reset_is_not_written():
    plan = ran()
    writer = ObjectWriter(state_log(plan).files, plan.epoch, 0, "fused")
    assert headrace("reset", "app.py", "--yes")[2] == 0
    with pytest.raises(hr.StateError, match=r"The state directory is missing \(.*\): the application was reset"):
        writer.append(b"rows")
    assert not STATE.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ('"words", offset_reset="latest"', "begins at the end of its input (offset reset 'latest')."),
        ('"words", offset_reset="none"', "refuses to start as long as the offset reset of a source is 'none'."),
        (
            're.compile("w.*"), offset_reset=hr.AutoOffsetReset.by_duration(timedelta(days=1))',
            "begins where the offset reset of each source says, and appends its output again.",
        ),
    ],
)
def test_reset_says_where_the_next_run_begins(options, said):
    ran()
    app("import re\nfrom datetime import timedelta\n" + SOURCE.replace('"words"', options))
    output, _, code = headrace("reset", "app.py", "--dry-run")
    assert code == 0
    assert f"The next run {said}\n" in output
