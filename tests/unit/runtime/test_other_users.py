"""What other users of the machine can do: neither read state, nor run code as the owner, nor prevent a start."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pyspark
import pytest

import headrace as hr
from headrace._graph.configured import configured
from headrace._runtime.spark.session.spark_home import spark_home
from headrace._runtime.spark.starting import committed_view, log_of, start
from headrace._runtime.spark.state_directory.presence import RunLock
from headrace._state.changes.delta import Columns
from headrace._state.replica.position import Position
from headrace._state.replica.replica import Replica, replicas_of
from headrace.errors import ConfigError, StateError
from tests.support.other_users import OTHER, OWNER, as_user, needs_root, readable_files

pytestmark = needs_root
INSTALLED = Path(pyspark.__file__).parent


@pytest.fixture
def machine(monkeypatch):
    """A machine with a temporary directory for everyone, and a home for the owner."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    (root / "home").mkdir(mode=0o755)
    os.chown(root / "home", OWNER, OWNER)
    monkeypatch.setattr(tempfile, "tempdir", str(root / "tmp"))
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    yield root
    shutil.rmtree(root)


def write_replica(local_dir=None):
    replica = Replica(replicas_of("instance", local_dir) / "0-0")
    entries = {"store": Columns([b"key"], [b"value"])}
    replica.reset(Position(1, b"12345678"), lambda target: target.append(entries))
    with replica.snapshot() as snapshot:
        found = snapshot.reader("store").get(b"key")
    replica.close()
    return found


def is_private(path, machine):
    """Whether one of the directories that lead to a path is closed to everyone but the owner."""
    below = [each for each in (path, *path.parents) if each.is_relative_to(machine)]
    return any(each.lstat().st_uid == OWNER and not each.lstat().st_mode & 0o077 for each in below)


def plant(path):
    """Creates, as another user, a directory with a program that the owner would run."""

    def create():
        (path / "bin").mkdir(parents=True)
        (path / "bin" / "spark-class").write_text("#!/bin/sh\nexec evil\n")

    as_user(OTHER, create)


def test_spark_home_that_another_user_has_created_is_not_used(machine):
    home = as_user(OWNER, lambda: spark_home(INSTALLED))
    as_user(OWNER, lambda: shutil.rmtree(machine / "tmp" / home.relative_to(machine / "tmp").parts[0]))
    plant(home)
    used = as_user(OWNER, lambda: spark_home(INSTALLED))
    assert used != home
    assert is_private(used, machine)
    assert (used / "bin").readlink() == INSTALLED / "bin"


def test_spark_home_of_the_owner_is_private_and_created_once(machine):
    first, second = (as_user(OWNER, lambda: spark_home(INSTALLED)) for _ in range(2))
    assert first == second
    assert first.is_relative_to(machine / "tmp")
    assert is_private(first, machine)


def test_two_users_of_a_machine_have_replicas(machine):
    assert as_user(OTHER, write_replica) == b"value"
    assert as_user(OWNER, write_replica) == b"value"


def test_replicas_cannot_be_read_by_other_users(machine):
    as_user(OWNER, write_replica)
    assert as_user(OTHER, lambda: readable_files(machine / "tmp")) == [machine / "tmp"]


@pytest.mark.parametrize("name", ["headrace-replicas", f"headrace-{OWNER}"])
def test_start_is_not_prevented_by_directories_of_another_user(machine, name):
    as_user(OTHER, lambda: (machine / "tmp" / name).mkdir(mode=0o700))
    assert as_user(OWNER, write_replica) == b"value"
    assert is_private(as_user(OWNER, lambda: replicas_of("instance", None)), machine)


def test_users_share_a_local_dir(machine):
    assert as_user(OTHER, lambda: write_replica(machine / "tmp")) == b"value"
    assert as_user(OWNER, lambda: write_replica(machine / "tmp")) == b"value"
    assert is_private(as_user(OWNER, lambda: replicas_of("instance", machine / "tmp")), machine)


def create_for_everyone(path):
    path.mkdir()
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("user", "create", "described"),
    [
        (OTHER, lambda path: path.mkdir(mode=0o700), r"a directory of user 'nobody' \(65534\) with mode 0700"),
        (OTHER, lambda path: path.symlink_to("/"), r"a link of user 'nobody' \(65534\) with mode 0777"),
        (OTHER, lambda path: path.touch(), r"a file of user 'nobody' \(65534\) with mode 0644"),
        (OWNER, create_for_everyone, "a directory of user 65533 with mode 0755"),
    ],
)
def test_local_dir_in_which_others_could_change_the_replicas_is_refused(machine, user, create, described):
    as_user(user, lambda: create(machine / "tmp" / f"headrace-{OWNER}"))
    problem = (
        rf"'{machine}/tmp/headrace-65533' is not private: it is {described}; it must be .* user 65533 with mode 0700"
    )
    with pytest.raises(ConfigError, match=rf"{problem}.* set local_dir to a directory of your own"):
        as_user(OWNER, lambda: write_replica(machine / "tmp"))


def test_error_names_the_directory_if_there_is_no_home_either(machine):
    as_user(OTHER, lambda: (machine / "tmp" / f"headrace-{OWNER}").mkdir())
    os.chown(machine / "home", 0, 0)
    with pytest.raises(ConfigError, match=rf"'{machine}/tmp/headrace-65533' is not private.* Set TMPDIR"):
        as_user(OWNER, lambda: spark_home(INSTALLED))


def test_state_directory_cannot_be_read_by_other_users(machine):
    config = hr.StreamsConfig(application_id="app", topics_dir="topics", state_dir=machine / "tmp" / "new" / "state")

    def write():
        RunLock(config.state_dir).acquire()
        log_of(config).files.make_directory("log")
        (config.state_dir / "log" / "1").write_bytes(b"state")

    as_user(OWNER, write)
    assert as_user(OTHER, lambda: readable_files(config.state_dir)) == []
    assert config.state_dir.stat().st_mode & 0o777 == 0o700


def test_existing_state_directory_keeps_its_mode(machine):
    config = hr.StreamsConfig(application_id="app", topics_dir="topics", state_dir=machine / "home" / "state")

    def write():
        config.state_dir.mkdir(mode=0o755)
        log_of(config).files.make_directory("log")

    as_user(OWNER, write)
    assert config.state_dir.stat().st_mode & 0o777 == 0o755


def start_and_read(state_dir):
    """What a start does before Spark: reads the log, locks the directory, writes the first entry."""
    config = hr.StreamsConfig(application_id="app", topics_dir=state_dir.parent / "topics", state_dir=state_dir)
    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    graph = configured(builder.build()._graph, config)
    if committed_view(config) is not None:
        RunLock(state_dir).acquire()
    start(graph, config, "run", lambda *_: (1, True))
    RunLock(state_dir).acquire()


@pytest.mark.parametrize(
    ("path", "mode", "named"),
    [
        ("new", 0o555, "new/state"),
        ("empty/state", 0o555, "empty/state/log"),
        ("used/state", 0o000, "used/state"),
        ("used/state/log", 0o000, "used/state"),
        ("used/state/log", 0o555, "used/state/log"),
        ("used/state/running.lock", 0o444, "used/state/running.lock"),
    ],
)
def test_state_dir_without_permission_is_explained(machine, path, mode, named):
    for name in ("new", "empty", "used"):
        topics = hr.LocalTopics(machine / name / "topics")
        for topic in ("in", "out"):
            topics.create(topic)
    (machine / "empty" / "state").mkdir()
    start_and_read(machine / "used" / "state")
    for each in machine.rglob("*"):
        os.chown(each, OWNER, OWNER)
    (machine / path).chmod(mode)
    said = rf"Cannot \w+ '{machine}/{named}.*': Permission denied\. .*permissions of the state directory"
    with pytest.raises(StateError, match=said):
        as_user(OWNER, lambda: start_and_read(machine / path.split("/")[0] / "state"))


def test_state_dir_below_a_file_is_explained(machine):
    (machine / "file").touch()
    with pytest.raises(StateError, match=r"state_dir '.*/file/state' is a file"):
        start_and_read(machine / "file" / "state")
