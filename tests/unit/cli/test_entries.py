"""The rows `headrace store` prints, for every kind of store."""

from datetime import timedelta

import pytest

from headrace import Change, Record, Stores, Window, Windowed, serdes
from headrace._runtime.stores import make_store, make_view
from headrace._state.bytes.memory import MemoryStore
from headrace.cli.output.entries import listing
from headrace.model.stores.specs import SuppressBufferSpec, UnmatchedSpec
from headrace.serdes.wrapping.sides import Sides

SECOND = timedelta(seconds=1)
SERDES = (serdes.String(), serdes.Json())


def window(key, start_s, end_s):
    return Windowed(key, Window(1000 * start_s, 1000 * end_s))


KINDS = {
    "key-value": (Stores.key_value("s"), [("a", {"n": 1}), ("b", 2)]),
    "timestamped": (Stores.timestamped_key_value("s"), [("a", {"n": 1}, 1000), ("b", 2, 2000)]),
    "window": (
        Stores.window("s", retention=99 * SECOND, window_size=5 * SECOND),
        [("a", 1, 0), ("b", 2, 0), ("a", 3, 5000)],
    ),
    "session": (Stores.session("s", retention=99 * SECOND), [(window("a", 1, 3), 1), (window("b", 2, 2), 2)]),
    "versioned": (
        Stores.versioned_key_value("s", history=99 * SECOND),
        [("a", 1, 0), ("a", 2, 1000), ("b", 3, 0)],
    ),
}
WINDOWED = ("key", "window start (UTC)", "window end (UTC)", "value")
TIMESTAMPED = ("key", "value", "timestamp (UTC)")


def clock(seconds):
    return f"1970-01-01 00:00:0{seconds}.000"


@pytest.mark.parametrize(
    ("kind", "columns", "rows"),
    [
        ("key-value", ("key", "value"), [("a", '{"n": 1}'), ("b", "2")]),
        ("timestamped", TIMESTAMPED, [("a", '{"n": 1}', clock(1)), ("b", "2", clock(2))]),
        (
            "window",
            WINDOWED,
            [
                ("a", clock(0), clock(5), "1"),
                ("a", clock(5), "1970-01-01 00:00:10.000", "3"),
                ("b", clock(0), clock(5), "2"),
            ],
        ),
        ("session", WINDOWED, [("a", clock(1), clock(3), "1"), ("b", clock(2), clock(2), "2")]),
        ("versioned", TIMESTAMPED, [("a", "2", clock(1)), ("b", "3", clock(0))]),
    ],
)
def test_entries_of_each_kind_have_columns_that_fit(kind, columns, rows):
    spec, puts = KINDS[kind]
    contents = MemoryStore()
    store = make_store(spec, contents, SERDES)
    for put in puts:
        store.put(*put)
    view = make_view(spec, [contents], SERDES)

    def printed(key):
        shown, entries, row = listing(view, key)
        return shown, [row(*entry) for entry in entries]

    assert printed(None) == (columns, rows)
    assert printed("b") == (columns, [row for row in rows if row[0] == "b"])
    assert printed("none of them") == (columns, [])


def test_rows_held_back_are_shown_with_the_time_by_which_they_wait():
    windowed = serdes.WindowedKey(serdes.String(), 5 * SECOND), serdes.Json()
    contents = MemoryStore()
    buffer = make_store(SuppressBufferSpec(name="s"), contents, windowed)
    for key, value in [("b", 2), ("a", None)]:
        buffer.put(Record(window(key, 0, 5), Change(value, 1), 3000), 5000, topic="in")
    view = make_view(SuppressBufferSpec(name="s"), [contents], windowed)

    def printed(key):
        shown, entries, row = listing(view, key)
        return shown, [row(*entry) for entry in entries]

    columns = ("key", "value", "timestamp (UTC)", "buffer time (UTC)")
    rows = [("[a@0/5000]", "null", clock(3), clock(5)), ("[b@0/5000]", "2", clock(3), clock(5))]
    assert printed(None) == (columns, rows)
    assert printed("b") == (columns, rows[1:])
    assert printed("none of them") == (columns, [])


def test_records_without_a_partner_are_shown_with_their_side():
    sides = serdes.String(), Sides(serdes.Json(), serdes.Json())
    contents = MemoryStore()
    store = make_store(UnmatchedSpec(name="s"), contents, sides)
    store.add(b"b", 2, 3000, is_left=True)
    store.add(b"a", {"n": 1}, 3000, is_left=False)
    view = make_view(UnmatchedSpec(name="s"), [contents], sides)

    def printed(key):
        shown, entries, row = listing(view, key)
        return shown, [row(*entry) for entry in entries]

    columns = ("key", "value", "timestamp (UTC)", "side")
    rows = [("a", '{"n": 1}', clock(3), "right"), ("b", "2", clock(3), "left")]
    assert printed(None) == (columns, rows)
    assert printed("b") == (columns, rows[1:])
