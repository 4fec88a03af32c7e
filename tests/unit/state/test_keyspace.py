import pytest

from headrace._state.changes.delta import Columns
from headrace._state.changes.keyspace import END, START, clip, key_bounds, place


def test_places_order_by_store_then_key():
    pairs = [
        ("a", b""),
        ("a", b"\x00"),
        ("a", b"\xff\xff"),
        ("a\u00e9", b""),
        ("ab", b""),
        ("b", b"a"),
        ("\U0010ffff", b"\xff"),
    ]
    pairs.sort(key=lambda pair: (pair[0].encode(), pair[1]))
    places = [place(*pair) for pair in pairs]
    assert places == sorted(places)
    assert places[0] > START
    assert places[-1] < END


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [
        (START, END, (b"", None)),
        (place("b", b"k"), END, (b"k", None)),
        (START, place("b", b"k"), (b"", b"k")),
        (place("b", b"k"), place("b", b"m"), (b"k", b"m")),
        (place("a", b"zzz"), place("c", b""), (b"", None)),
        (START, place("b", b""), None),
        (place("bb", b""), END, None),
    ],
)
def test_key_bounds(low, high, bounds):
    assert key_bounds("b", low, high) == bounds


def test_clip_takes_the_part_between_two_places():
    delta = {name: Columns([b"a", b"m"], [b"1", b"2"]) for name in ("a", "b", "c")}
    assert clip(delta, place("a", b"b"), place("b", b"m")) == {
        "a": Columns([b"m"], [b"2"]),
        "b": Columns([b"a"], [b"1"]),
    }
