"""The archive of Spark's classes: used only if it is safe, written by one process only."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headrace._runtime.spark.session import class_archive
from headrace.errors import ConfigError
from headrace.topics.embedded.files import file_lock

HOME = Path("/spark")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    directory = tmp_path / "headrace"
    directory.mkdir(mode=0o700)
    return directory


def with_archive(directory):
    archive = class_archive._archive(directory, HOME)
    archive.touch()
    return archive


def test_jvm_gets_the_options_for_an_archive_that_exists(cache):
    assert class_archive.java_options(HOME) == []
    archive = with_archive(cache)
    assert class_archive.java_options(HOME) == [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable", "-Xshare:auto"]


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_archive_that_others_may_have_written_is_not_used(cache, mode):
    with_archive(cache)
    cache.chmod(mode)
    assert class_archive.java_options(HOME) == []


def test_archive_behind_a_link_is_not_used(cache, tmp_path):
    with_archive(cache)
    cache.rename(tmp_path / "elsewhere")
    cache.symlink_to(tmp_path / "elsewhere")
    assert class_archive.java_options(HOME) == []


@pytest.fixture
def writes(cache, monkeypatch):
    """The archives that were to be written; a test replaces what happens then."""
    written = []
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(class_archive, "spark_home", lambda _: HOME)
    monkeypatch.setattr(class_archive.os, "nice", lambda _: 0)
    monkeypatch.setattr(class_archive, "_write_in_another_process", written.append)
    return written


def test_archive_is_written_if_it_is_missing(cache, writes):
    class_archive.write_if_missing()
    assert writes == [class_archive._archive(cache, HOME)]


def test_archive_that_exists_is_not_written_again(cache, writes):
    with_archive(cache)
    class_archive.write_if_missing()
    assert writes == []


def test_archive_is_written_by_one_process_at_a_time(cache, writes):
    archive = class_archive._archive(cache, HOME)
    with file_lock(archive.with_suffix(".lock")):
        class_archive.write_if_missing()
    assert writes == []


def test_archive_whose_writer_was_killed_is_written_by_the_next_process(cache, writes, monkeypatch):
    def killed(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(class_archive, "_write_in_another_process", killed)
        with pytest.raises(KeyboardInterrupt):
            class_archive.write_if_missing()
    class_archive.write_if_missing()
    assert writes == [class_archive._archive(cache, HOME)]


def test_archive_that_could_not_be_written_is_tried_again_after_an_hour(cache, writes):
    class_archive.write_if_missing()
    class_archive.write_if_missing()
    archive = class_archive._archive(cache, HOME)
    assert writes == [archive]
    os.utime(archive.with_suffix(".failed"), (0, 0))
    class_archive.write_if_missing()
    assert writes == [archive, archive]


def test_archives_that_were_not_used_for_a_month_are_deleted(cache, writes):
    old, recent = cache / "classes-1.jsa", cache / "classes-2.jsa"
    for archive in (old, recent):
        archive.touch()
    os.utime(old, (0, 0))
    class_archive.write_if_missing()
    assert sorted(cache.glob("*.jsa")) == [recent]


def test_an_archive_in_use_is_not_deleted(cache):
    archive = with_archive(cache)
    os.utime(archive, (0, 0))
    class_archive.java_options(HOME)
    class_archive._delete_unused(cache)
    assert archive.exists()


def test_an_archive_in_a_read_only_cache_is_used(cache, monkeypatch):
    def read_only(_):
        raise OSError(errno.EROFS, "Read-only file system")

    archive = with_archive(cache)
    monkeypatch.setattr(class_archive.os, "utime", read_only)
    assert class_archive.java_options(HOME) == [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable", "-Xshare:auto"]


def test_prepare_writes_the_archive_at_once_and_only_once(cache, writes, monkeypatch):
    archive = class_archive._archive(cache, HOME)
    assert class_archive.existing() is None

    def write(path):
        writes.append(path)
        path.touch()

    monkeypatch.setattr(class_archive, "_write_in_another_process", write)
    assert [class_archive.prepare(), class_archive.prepare(), class_archive.existing()] == [archive] * 3
    assert writes == [archive]


def test_prepare_says_why_there_is_no_archive(cache, writes, monkeypatch):
    monkeypatch.setattr(class_archive, "_write_in_another_process", lambda _: "ConfigError: no space left")
    with pytest.raises(ConfigError, match=r"was not written to .*\.jsa: ConfigError: no space left"):
        class_archive.prepare()
