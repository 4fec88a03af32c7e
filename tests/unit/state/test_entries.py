"""Entries of the state log: the state after them, their stored form, and detection of damage."""

from __future__ import annotations

import pytest

from headrace._state.log.entries import (
    ApplicationState,
    Commit,
    DeadObject,
    Location,
    LogEntry,
    ObjectUse,
    decode,
    encode,
)
from headrace.errors import StateError


def test_state_is_the_sum_of_all_commits():
    old, new = ObjectUse(100, 100), ObjectUse(50, 50)
    heads = {"0-0": Location("old", 0, 60), "0-1": Location("old", 60, 40)}
    counts = {"source": {"records_in": 2}, "sink": {"records_out": 1}}
    first = Commit(0, 10, {"a-0": 2, "a-1": 3}, 9, heads, {"old": old}, counts=counts, alarm_ms=20, sessions={"0": "x"})
    state = ApplicationState().after(first)
    assert state == ApplicationState(
        batch=0,
        offsets={"a-0": 2, "a-1": 3},
        clock_ms=9,
        heads=heads,
        objects={"old": old},
        counts=counts,
        alarm_ms=20,
        sessions={"0": "x"},
    )
    moved = Location("new", 0, 50)
    added = {"source": {"records_in": 1, "dropped": 1}}
    second = Commit(
        1,
        11,
        {"a-1": 4},
        None,
        {"0-1": moved},
        {"new": new},
        {"old": 40},
        counts=added,
        output=["run"],
        sessions={"1": "y"},
    )
    assert state.after(second) == ApplicationState(
        batch=1,
        offsets={"a-0": 2, "a-1": 4},
        heads={"0-0": heads["0-0"], "0-1": moved},
        objects={"old": ObjectUse(100, 60), "new": new},
        counts={"source": {"records_in": 3, "dropped": 1}, "sink": {"records_out": 1}},
        output=["run"],
        sessions={"0": "x", "1": "y"},
    )


def test_unneeded_object_is_dead_until_it_is_deleted():
    state = ApplicationState().after(Commit(0, 10, {}, objects={"a": ObjectUse(5, 5), "b": ObjectUse(7, 7)}))
    state = state.after(Commit(1, 11, {}, freed={"a": 5, "b": 3}))
    assert (state.objects, state.dead) == ({"b": ObjectUse(7, 4)}, {"a": DeadObject(5, 11)})
    state = state.after(Commit(2, 12, {}, freed={"b": 4}, swept=("a",)))
    assert (state.objects, state.dead) == ({}, {"b": DeadObject(7, 12)})


ENTRY = LogEntry(1, "nonce", 0, commit=Commit(4, 10, {"in-0": 3}, heads={"0-0": Location("object", 0, 9)}))


def test_entry_is_one_line_of_format_and_checksum_and_one_of_json():
    first, second, end = encode(ENTRY).split(b"\n")
    assert (first[:17], end) == (b"headrace-state 1 ", b"")
    assert second.startswith(b'{"epoch":1,"nonce":"nonce","before":0,"commit":{"batch":4,"time_ms":10,')
    assert decode(encode(ENTRY), "entry 7") == ENTRY


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: b"", "entry 7 is damaged: it does not start like an entry."),
        (lambda data: data[:20], "entry 7 is damaged: it does not start like an entry."),
        (lambda data: data[:-1], "entry 7 is damaged: its end is missing."),
        (lambda data: data[:-5], "entry 7 is damaged: its end is missing."),
        (lambda data: data.replace(b'"in-0":3', b'"in-0":4'), "entry 7 is damaged: its checksum is wrong."),
        (
            lambda data: data.replace(b"state 1 ", b"state 2 "),
            "entry 7 was written by a newer version of Headrace (format 2); this version reads format 1: upgrade",
        ),
        (lambda data: data.replace(b"state 1 ", b"state 0 "), "entry 7 has format 0, which no version of Headrace"),
    ],
)
def test_damaged_entry_is_refused_with_a_reason(damage, said):
    with pytest.raises(StateError) as refused:
        decode(damage(encode(ENTRY)), "entry 7")
    assert str(refused.value).startswith(said)
