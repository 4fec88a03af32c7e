import pytest

from headrace._state.changes.delta import encode_columns, sort_changes
from headrace._state.changes.head import Head, Region, RetainedDelta, cover
from headrace._state.changes.keyspace import END
from headrace._state.replica.position import ORIGIN, Position
from headrace.errors import StateError

DELTAS = tuple(RetainedDelta(version, bytes([version]) * 8, 10 * version) for version in (5, 6, 7))


def encoded(changes):
    return encode_columns(sort_changes(changes))


def test_decoded_head_equals_the_encoded_one():
    head = Head(
        DELTAS[-1].position,
        Position(4, b"4" * 8),
        DELTAS,
        (Region(b"m", 6, 3, 100, 9), Region(END, 4)),
        (1, 2),
        b"m",
        4,
    )
    assert Head.decode(head.encode(), "x") == head


def test_missing_deltas_follow_from_a_position_on_the_chain():
    head = Head(DELTAS[-1].position, Position(4, b"4" * 8), DELTAS)
    assert head.missing(Position(4, b"4" * 8)) == DELTAS
    assert head.missing(DELTAS[1].position) == DELTAS[2:]
    assert head.missing(DELTAS[2].position) == ()


@pytest.mark.parametrize("position", [ORIGIN, Position(6, b"\x00" * 8), Position(8, b"8" * 8)])
def test_positions_outside_the_chain_have_no_missing_deltas(position):
    assert Head(DELTAS[-1].position, Position(4, b"4" * 8), DELTAS).missing(position) is None


def test_deltas_up_to_the_oldest_region_are_not_needed():
    assert Head(deltas=DELTAS, regions=(Region(b"m", 9), Region(END, 5))).needed() == DELTAS[1:]


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
def test_a_new_region_covers_or_cuts_older_ones(low, new, expected):
    assert list(cover([Region(b"g", 1, 1), Region(END, 2, 2)], low, new)) == expected


def test_blob_of_another_kind_is_refused():
    with pytest.raises(StateError, match=r"^task 3, head: the stored blob has the right checksum, but is not a head"):
        Head.decode(encoded({"a": {b"k": b"v"}}).blob, "task 3, head")
