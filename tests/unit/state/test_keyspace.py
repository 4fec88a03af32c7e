import pytest

from headrace._state.changes.delta import Columns
from headrace._state.changes.keyspace import END, START, clip, full_key, key_bounds


def test_full_keys_order_by_store_then_key():
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
    places = [full_key(*pair) for pair in pairs]
    assert places == sorted(places)
    assert places[0] > START
    assert places[-1] < END


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [
        (START, END, (b"", None)),
        (full_key("b", b"k"), END, (b"k", None)),
        (START, full_key("b", b"k"), (b"", b"k")),
        (full_key("b", b"k"), full_key("b", b"m"), (b"k", b"m")),
        (full_key("a", b"zzz"), full_key("c", b""), (b"", None)),
        (START, full_key("b", b""), None),
        (full_key("bb", b""), END, None),
    ],
)
def test_key_bounds_are_the_keys_of_a_store_within_an_interval(low, high, bounds):
    assert key_bounds("b", low, high) == bounds


def test_clip_returns_the_part_between_two_full_keys():
    delta = {name: Columns([b"a", b"m"], [b"1", b"2"]) for name in ("a", "b", "c")}
    assert clip(delta, full_key("a", b"b"), full_key("b", b"m")) == {
        "a": Columns([b"m"], [b"2"]),
        "b": Columns([b"a"], [b"1"]),
    }
