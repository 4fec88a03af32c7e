"""The saved names of topics that functions choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace._runtime.spark.state_directory import dynamic_topics
from headrace._runtime.spark.state_directory.dynamic_topics import DYNAMIC_TOPICS, DynamicTopics


@pytest.fixture
def synced(monkeypatch):
    """The directories that are synced, with the names in them at that time."""
    calls = []

    def sync(directory):
        calls.append((directory.name, sorted(entry.name for entry in directory.iterdir())))

    monkeypatch.setattr(dynamic_topics, "sync_directory", sync)
    return calls


def test_a_name_and_its_directory_are_on_disk_before_a_record_is_written(tmp_path, synced):
    names = DynamicTopics(str(tmp_path))
    names.add("large")
    assert synced == [(DYNAMIC_TOPICS, ["large"]), (tmp_path.name, [DYNAMIC_TOPICS])]
    assert names.names() == {"large"}


def test_a_name_that_this_user_may_not_write_is_synced_too(tmp_path, synced, monkeypatch):
    def refuse(path):
        raise PermissionError(path)

    DynamicTopics(str(tmp_path)).add("large")
    monkeypatch.setattr(Path, "touch", refuse)
    DynamicTopics(str(tmp_path)).add("large")
    assert synced == [(DYNAMIC_TOPICS, ["large"]), (tmp_path.name, [DYNAMIC_TOPICS])] * 2


def test_a_name_that_another_process_has_created_is_synced_too(tmp_path, synced):
    (tmp_path / DYNAMIC_TOPICS).mkdir()
    (tmp_path / DYNAMIC_TOPICS / "large").touch()
    DynamicTopics(str(tmp_path)).add("large")
    assert synced == [(DYNAMIC_TOPICS, ["large"]), (tmp_path.name, [DYNAMIC_TOPICS])]
