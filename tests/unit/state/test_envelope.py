import pytest

from headrace._state.bytes.envelope import seal, unseal
from headrace.errors import StateError


def test_payload_comes_back():
    assert bytes(unseal(seal(b"payload"), "x")) == b"payload"


@pytest.mark.parametrize("damage", [lambda blob: blob[:-1], lambda blob: blob[:-1] + b"?", lambda blob: blob + b"?"])
def test_damaged_blob_names_what_it_is(damage):
    with pytest.raises(StateError, match=r"^application 'a', task 3: the checksum is .* restore it from a copy"):
        unseal(damage(seal(b"payload")), "application 'a', task 3")


def test_blob_too_short_to_be_one_is_refused():
    with pytest.raises(StateError, match="has 4 bytes"):
        unseal(seal(b"payload")[:4], "x")


def test_other_format_is_refused():
    with pytest.raises(StateError, match="x: stored in format 9, while this version of Headrace reads format 1"):
        unseal(b"\x09" + seal(b"payload")[1:], "x")
