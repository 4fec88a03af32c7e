"""The archive of Spark's classes: used only if it is safe, written by one process only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace._runtime.spark.session import class_archive

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


def test_one_process_an_hour_tries_to_write_the_archive(cache):
    claim = cache / "classes.writer"
    assert [class_archive._is_first(claim) for _ in range(2)] == [True, False]
    os.utime(claim, (0, 0))
    assert class_archive._is_first(claim)
