"""The wire form of a change, byte by byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Change, SerdeError, serdes

SERDE = serdes.ChangeEvent(serdes.String())
FORMS = [
    (Change("ab", "c"), "00 00 00 02 61 62 63 02"),
    (Change("ab", None), "61 62 01"),
    (Change(None, "c"), "63 00"),
    (Change("", ""), "00 00 00 00 02"),
    (Change("", None), "01"),
    (Change(None, ""), "00"),
    (Change("ab", ""), "00 00 00 02 61 62 02"),
    (Change("", "c"), "00 00 00 00 63 02"),
]


@pytest.mark.parametrize(("change", "form"), FORMS)
def test_each_form_is_written_and_read(change, form):
    assert SERDE.serialize(change) == bytes.fromhex(form)
    assert SERDE.deserialize(bytes.fromhex(form)) == change


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ("", "this is empty"),
        ("61 03", "unknown flag 3 at the end of a change; known are 0 (old), 1 (new) and 2 (both)"),
        ("61 ff", "unknown flag 255"),
        ("00 00 02", "at least 5 bytes; this has 3"),
        ("00 00 00 05 61 62 02", "says its new value has 5 bytes, but only 2 follow"),
        ("ff ff ff ff 61 02", "says its new value has -1 bytes"),
    ],
)
def test_malformed_bytes_are_an_error_that_says_so(form, problem):
    with pytest.raises(SerdeError) as refused:
        SERDE.deserialize(bytes.fromhex(form))
    assert problem in str(refused.value)


def test_a_change_of_nothing_is_refused():
    with pytest.raises(SerdeError, match="needs a new value or an old one"):
        SERDE.serialize(Change(None, None))


@pytest.mark.parametrize("strict", [SERDE.read_back(), SERDE.read_back().read_back()])
def test_an_outdated_change_is_refused_only_where_the_topology_reads_it_back(strict):
    outdated = Change("ab", None, is_latest=False)
    assert SERDE.deserialize(SERDE.serialize(outdated)) == Change("ab", None)
    assert [strict.serialize(change).hex(" ") for change, _ in FORMS] == [form for _, form in FORMS]
    with pytest.raises(SerdeError, match="the change would be read back with is_latest=True"):
        strict.serialize(outdated)


def test_what_is_no_change_is_refused():
    with pytest.raises(SerdeError, match="expected a Change of a new and an old value"):
        SERDE.serialize("ab")


def test_null_stays_null():
    assert (SERDE.serialize(None), SERDE.deserialize(None)) == (None, None)


@given(new=st.none() | st.text(), old=st.none() | st.text())
def test_what_is_written_is_read_again(new, old):
    if new is None and old is None:
        return
    assert SERDE.deserialize(SERDE.serialize(Change(new, old))) == Change(new, old)


def test_serdes_of_the_same_inner_serde_are_equal():
    assert serdes.ChangeEvent(serdes.Long()) == serdes.ChangeEvent(serdes.Long())
    assert serdes.ChangeEvent(serdes.Long()) != serdes.ChangeEvent(serdes.Int())
    assert repr(serdes.ChangeEvent(serdes.Long())) == "ChangeEvent(Long())"
