import pytest

from headrace._state.bytes.envelope import seal, unseal
from headrace.errors import StateError


def test_unsealed_payload_equals_the_sealed_one():
    assert bytes(unseal(seal(b"payload"), "x")) == b"payload"


@pytest.mark.parametrize("damage", [lambda blob: blob[:-1], lambda blob: blob[:-1] + b"?", lambda blob: blob + b"?"])
def test_error_of_a_damaged_blob_names_the_blob(damage):
    with pytest.raises(StateError, match=r"^application 'a', task 3: the checksum is .* restore it from a copy"):
        unseal(damage(seal(b"payload")), "application 'a', task 3")


def test_blob_shorter_than_its_header_is_refused():
    with pytest.raises(StateError, match="has 4 bytes"):
        unseal(seal(b"payload")[:4], "x")


def test_other_format_is_refused():
    with pytest.raises(StateError, match=r"x: the stored blob was written by a newer version of Headrace \(format 9\)"):
        unseal(b"\x09" + seal(b"payload")[1:], "x")
