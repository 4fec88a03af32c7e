import random

import pytest

from headrace._state.bytes.envelope import seal
from headrace._state.changes.delta import Columns, decode_columns, encode_columns, sort_changes
from headrace.errors import StateError


def encoded(changes):
    return encode_columns(sort_changes(changes))


def test_decoded_changes_have_sorted_keys():
    changes = {"b": {b"z": b"1", b"": b"", b"a" * 600: None}, "a": {b"k": None}, "c": {}}
    assert decode_columns(encoded(changes).blob, "x") == {
        "b": Columns([b"", b"a" * 600, b"z"], [b"", None, b"1"]),
        "a": Columns([b"k"], [None]),
        "c": Columns([], []),
    }


def test_size_is_measured_before_compression():
    blob, size = encoded({"a": {b"%06d" % i: b"v" * 100 for i in range(1000)}})
    assert size > 1000 * 106
    assert len(blob) < size / 5


def test_between_includes_the_start_and_excludes_the_end():
    columns = Columns([b"a", b"b", b"c"], [b"1", None, b"3"])
    assert columns.between(b"a", b"c") == Columns([b"a", b"b"], [b"1", None])
    assert columns.between(b"aa", None) == Columns([b"b", b"c"], [None, b"3"])


def test_every_altered_byte_is_detected():
    blob = encoded({"store": {b"key": b"value", b"gone": None}}).blob
    rng = random.Random(1)
    for index in rng.sample(range(len(blob)), 100):
        altered = bytearray(blob)
        altered[index] ^= 1 << rng.randrange(8)
        with pytest.raises(StateError, match=r"^task 3, delta of version 7: "):
            decode_columns(bytes(altered), "task 3, delta of version 7")


@pytest.mark.parametrize("payload", [b"", b"\x00" * 40, b"some other blob"])
def test_intact_blob_of_another_kind_is_refused(payload):
    with pytest.raises(
        StateError, match=r"^task 3: the stored blob has the right checksum, but is not a delta or slice"
    ):
        decode_columns(seal(payload), "task 3")
