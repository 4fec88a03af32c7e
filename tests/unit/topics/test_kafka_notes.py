"""The notes of written batches on Kafka: earlier ones stay readable, those of a newer version are refused."""

from __future__ import annotations

import msgspec
import pytest

from headrace.errors import StateError
from headrace.topics.kafka.commits import Commits, Note

NOTE = b'{"instance":"i","start":3,"batch":7,"format":1}'
COMMITS = Commits(None, "app", "i", 3)


def test_a_note_is_json_with_a_format():
    assert msgspec.json.encode(Note("i", 3, 7)) == NOTE
    assert COMMITS._decode(NOTE) == Note("i", 3, 7)


def test_fields_of_later_versions_are_ignored():
    assert COMMITS._decode(NOTE.replace(b"}", b',"more":true}')) == Note("i", 3, 7)


def test_a_note_of_a_newer_format_is_refused():
    with pytest.raises(StateError) as refused:
        COMMITS._decode(NOTE.replace(b'"format":1', b'"format":2'))
    assert str(refused.value) == (
        "A note in topic 'app-headrace-commits' was written by a newer version of Headrace (format 2); this version "
        "reads format 1: upgrade Headrace."
    )
