import pytest

from headrace._state.changes.delta import encode_columns, in_order
from headrace._state.changes.head import Head, LogEntry, Region, cover
from headrace._state.changes.keyspace import END
from headrace._state.replica.position import ORIGIN, Position
from headrace.errors import StateError

LOG = tuple(LogEntry(version, bytes([version]) * 8, 10 * version) for version in (5, 6, 7))


def encoded(changes):
    return encode_columns(in_order(changes))


def test_head_comes_back():
    head = Head(
        LOG[-1].position, Position(4, b"4" * 8), LOG, (Region(b"m", 6, 3, 100, 9), Region(END, 4)), (1, 2), b"m", 4
    )
    assert Head.decode(head.encode(), "x") == head


def test_positions_on_the_chain_tell_what_is_missing():
    head = Head(LOG[-1].position, Position(4, b"4" * 8), LOG)
    assert head.missing(Position(4, b"4" * 8)) == LOG
    assert head.missing(LOG[1].position) == LOG[2:]
    assert head.missing(LOG[2].position) == ()


@pytest.mark.parametrize("position", [ORIGIN, Position(6, b"\x00" * 8), Position(8, b"8" * 8)])
def test_other_positions_are_off_the_chain(position):
    assert Head(LOG[-1].position, Position(4, b"4" * 8), LOG).missing(position) is None


def test_deltas_up_to_the_oldest_region_are_not_needed():
    assert Head(log=LOG, regions=(Region(b"m", 9), Region(END, 5))).needed() == LOG[1:]


@pytest.mark.parametrize(
    ("low", "new", "expected"),
    [
        (b"", Region(END, 9), [Region(END, 9)]),
        (b"", Region(b"d", 9), [Region(b"d", 9), Region(b"g", 1, 1), Region(END, 2, 2)]),
        (b"", Region(b"g", 9), [Region(b"g", 9), Region(END, 2, 2)]),
        (b"g", Region(END, 9), [Region(b"g", 1, 1), Region(END, 9)]),
        (b"d", Region(b"h", 9), [Region(b"d", 1, 1), Region(b"h", 9), Region(END, 2, 2)]),
        (b"d", Region(b"e", 9), [Region(b"d", 1, 1), Region(b"e", 9), Region(b"g", 1, 1), Region(END, 2, 2)]),
    ],
)
def test_a_region_covers_or_trims_what_was_there(low, new, expected):
    assert list(cover([Region(b"g", 1, 1), Region(END, 2, 2)], low, new)) == expected


def test_other_blob_is_no_head():
    with pytest.raises(StateError, match=r"^task 3, head: the stored blob is whole but no head"):
        Head.decode(encoded({"a": {b"k": b"v"}}).blob, "task 3, head")
