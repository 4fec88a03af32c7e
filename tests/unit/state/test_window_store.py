import logging
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Window, Windowed, serdes
from headrace._state.bytes.composite import ENTRY, read_leading_key
from headrace._state.bytes.memory import MemoryStore
from headrace._state.layouts.retention_clocks import KeyClock, StoreClock
from headrace._state.stores.window import TypedTimestampedWindowStore, TypedWindowStore
from headrace.errors import StateError
from tests.support.bytestores import TRICKY_KEYS, CountingStore, InBatches, InMemory, timed_entries_in
from tests.support.dose import examples

SIZE = 10
clocks = pytest.mark.parametrize("clock", [StoreClock, KeyClock])


def window_store(clock=StoreClock, retention_ms=30, contents=None, **options):
    contents = MemoryStore() if contents is None else contents
    return TypedWindowStore(
        contents,
        clock(contents, retention_ms),
        serdes.String(),
        serdes.Json(),
        window_size_ms=SIZE,
        name="visits",
        **options,
    )


def at(key, start_ms):
    return Windowed(key, Window(start_ms, start_ms + SIZE))


def fill(store, *entries):
    for entry in entries:
        store.put(*entry)
    return store


@clocks
def test_windows_are_fetched_by_their_start(clock):
    store = fill(window_store(clock), ("a", 1, 0), ("a", 2, 10), ("a", 3, 10), ("b", 4, 10))
    assert [store.fetch("a", start) for start in (0, 5, 10, 20)] == [1, None, 3, None]
    assert (store.fetch("b", 0), store.fetch("c", 0), store.fetch("a", -1)) == (None, None, None)


@clocks
@pytest.mark.parametrize(
    ("from_ms", "to_ms", "expected"),
    [
        (0, 20, [(0, "x"), (10, "y"), (20, "z")]),
        (1, 19, [(10, "y")]),
        (10, 10, [(10, "y")]),
        (-5, 9, [(0, "x")]),
        (11, 19, []),
        (20, 10, []),
        (-5, -1, []),
        (15, 1 << 70, [(20, "z")]),
    ],
)
def test_fetch_includes_both_ends_and_ascends(clock, from_ms, to_ms, expected):
    store = fill(window_store(clock), ("a", "z", 20), ("a", "x", 0), ("a", "y", 10), ("aa", "other", 10))
    assert list(store.fetch("a", from_ms, to_ms)) == expected
    assert list(store.fetch_range("a", from_ms, to_ms)) == expected
    assert list(store.fetch_range("a", to_ms=to_ms, from_ms=from_ms)) == expected


@clocks
@pytest.mark.parametrize(
    ("from_key", "to_key", "keys"),
    [(None, None, ["a", "ab", "b"]), ("a", "a", ["a"]), ("aa", None, ["ab", "b"]), (None, "ab", ["a", "ab"])],
)
def test_fetch_range_of_keys_orders_by_key_then_start(clock, from_key, to_key, keys):
    store = fill(window_store(clock), *((key, start, start) for start in (20, 0, 10) for key in ("b", "a", "ab")))
    assert list(store.fetch_range(from_key, to_key, 5, 20)) == [(at(key, s), s) for key in keys for s in (10, 20)]
    assert list(store.fetch_range(from_key, to_key, from_ms=0, to_ms=0)) == [(at(key, 0), 0) for key in keys]


@clocks
def test_fetch_all_and_all_order_by_key_then_start(clock):
    store = fill(window_store(clock), ("b", 1, 0), ("a", 2, 10), ("b", 3, 10), ("a", 4, 0), ("ab", 5, 0))
    assert list(store.all()) == [(at("a", 0), 4), (at("a", 10), 2), (at("ab", 0), 5), (at("b", 0), 1), (at("b", 10), 3)]
    assert list(store.fetch_all(10, 20)) == [(at("a", 10), 2), (at("b", 10), 3)]


@clocks
def test_putting_none_removes_the_window(clock):
    store = fill(window_store(clock), ("a", 1, 0), ("a", 2, 10), ("a", None, 0), ("b", None, 0))
    assert list(store.all()) == [(at("a", 10), 2)]


def test_window_expires_when_store_time_reaches_its_start_plus_retention():
    store = fill(window_store(), ("a", 1, 0), ("a", 2, 1), ("b", 3, 30))
    assert (store.fetch("a", 0), store.fetch("a", 1)) == (None, 2)
    assert list(store.fetch("a", 0, 40)) == [(1, 2)]
    assert list(store.all()) == [(at("a", 1), 2), (at("b", 30), 3)]
    store.put("b", 4, 31)
    assert list(store.all()) == [(at("b", 30), 3), (at("b", 31), 4)]


def test_put_of_an_expired_window_is_ignored():
    contents = MemoryStore()
    store = fill(window_store(contents=contents), ("b", 1, 40), ("a", 2, 10), ("a", 3, 11), ("b", None, 10))
    assert list(store.all()) == [(at("a", 11), 3), (at("b", 40), 1)]
    assert timed_entries_in(contents, segmented=True) == [(b"a", 11), (b"b", 40)]


@clocks
def test_an_iterator_skips_windows_that_expire_ahead_of_it(clock):
    store = fill(window_store(clock), ("a", 1, 0), ("a", 2, 5), ("a", 3, 10))
    of_key, of_all = store.fetch("a", 0, 90), store.all()
    assert (next(of_key), next(of_all)) == ((0, 1), (at("a", 0), 1))
    store.put("a", 4, 35)
    assert (list(of_key), list(of_all)) == ([(10, 3), (35, 4)], [(at("a", 10), 3), (at("a", 35), 4)])


def test_with_a_clock_per_key_other_keys_expire_nothing():
    store = fill(window_store(KeyClock), ("a", 1, 0), ("a", 2, 1), ("b", 3, 100), ("a", 4, 0))
    assert list(store.all()) == [(at("a", 0), 4), (at("a", 1), 2), (at("b", 100), 3)]
    fill(store, ("a", 5, 31), ("a", 6, 1), ("a", 7, 2))
    assert list(store.all()) == [(at("a", 2), 7), (at("a", 31), 5), (at("b", 100), 3)]


@clocks
def test_a_deletion_advances_time(clock):
    store = fill(window_store(clock), ("a", 1, 0), ("a", None, 30))
    assert list(store.all()) == []


@clocks
def test_store_time_survives_a_restart(clock):
    contents = MemoryStore()
    fill(window_store(clock, contents=contents), ("a", 1, 5), ("a", None, 35))
    store = fill(window_store(clock, contents=contents), ("a", 2, 5), ("a", 3, 6))
    assert list(store.all()) == [(at("a", 6), 3)]


def test_windows_are_still_readable_after_the_retention_was_changed():
    contents, hour = MemoryStore(), 3_600_000
    fill(window_store(contents=contents, retention_ms=hour), *(("a", n, n * hour // 4) for n in range(5)))
    longer = window_store(contents=contents, retention_ms=8 * hour)
    assert list(longer.all()) == [(at("a", n * hour // 4), n) for n in range(5)]
    assert list(longer.fetch("a", 0, 8 * hour)) == [(n * hour // 4, n) for n in range(5)]
    shorter = window_store(contents=contents, retention_ms=hour // 4 + 1)
    assert list(shorter.fetch("a", 0, 8 * hour)) == [(n * hour // 4, n) for n in (3, 4)]


@clocks
def test_retained_duplicates_are_ordered_by_arrival(clock):
    contents = MemoryStore()
    fill(window_store(clock, contents=contents, retain_duplicates=True), ("a", 3, 0), ("a", 1, 0), ("a", None, 0))
    store = fill(window_store(clock, contents=contents, retain_duplicates=True), ("a", 2, 0), ("b", 4, 0), ("a", 1, 0))
    assert list(store.fetch("a", 0, 5)) == [(0, 3), (0, 1), (0, 2), (0, 1)]
    assert (store.fetch("a", 0), store.fetch("a", 1)) == (1, None)
    assert list(store.all()) == [*((at("a", 0), n) for n in (3, 1, 2, 1)), (at("b", 0), 4)]


def test_ignored_none_among_duplicates_does_not_advance_time():
    store = fill(window_store(retain_duplicates=True), ("a", 1, 0), ("a", None, 100))
    assert list(store.all()) == [(at("a", 0), 1)]


def test_timestamped_windows_return_the_pair():
    contents = MemoryStore()
    store = TypedTimestampedWindowStore(
        contents, StoreClock(contents, 30), serdes.String(), serdes.Long(), window_size_ms=SIZE
    )
    fill(store, ("a", 1, 0, 7), ("a", 2, 10, 12), ("b", 3, 0, 1), ("b", None, 0, 2))
    assert store.fetch("a", 0) == (1, 7)
    assert list(store.fetch("a", 0, 10)) == [(0, (1, 7)), (10, (2, 12))]
    assert list(store.all()) == [(at("a", 0), (1, 7)), (at("a", 10), (2, 12))]


def test_key_range_that_runs_backwards_is_empty_and_warns(caplog):
    with caplog.at_level(logging.WARNING):
        assert list(fill(window_store(), ("a", 1, 0)).fetch_range("b", "a", 0, 10)) == []
    assert "Store 'visits': the range from 'b' to 'a' is empty" in caplog.text


def test_key_none_is_refused():
    with pytest.raises(StateError, match="Store 'visits': the key is None"):
        window_store().put(None, 1, 0)


@clocks
@pytest.mark.parametrize("duplicates", [False, True])
@pytest.mark.parametrize("start_ms", [-1, 0.5])
def test_invalid_start_is_refused_and_changes_nothing(clock, duplicates, start_ms):
    store = window_store(clock, retain_duplicates=duplicates)
    with pytest.raises(StateError, match="is not a time"):
        store.put("a", 1, start_ms)
    assert list(fill(store, ("a", 2, 0)).all()) == [(at("a", 0), 2)]


def test_fetch_range_with_too_few_arguments_says_what_it_takes():
    with pytest.raises(TypeError, match=r"fetch_range\(\) takes a key or a range of two keys, then from_ms and to_ms"):
        window_store().fetch_range("a", 1)


def test_expired_segments_are_removed_a_few_entries_per_put():
    contents = CountingStore()
    store = fill(window_store(contents=contents), *((f"k{n:02}", n, n) for n in range(30)))
    removed = []
    for start_ms in range(70_000, 70_010):
        contents.reset_counts()
        store.put("z", 0, start_ms)
        removed.append(contents.deletes)
    assert removed == [4, 4, 4, 4, 4, 4, 4, 2, 0, 0]
    assert timed_entries_in(contents, segmented=True) == [(b"z", start) for start in range(70_000, 70_010)]


def test_removal_continues_after_a_restart():
    contents = MemoryStore()
    fill(window_store(contents=contents), *((f"k{n:02}", n, n) for n in range(9)), ("z", 0, 70_000))
    fill(window_store(contents=contents), ("z", 0, 70_001), ("z", 0, 70_002))
    assert timed_entries_in(contents, segmented=True) == [(b"z", start) for start in range(70_000, 70_003)]


def test_put_within_a_segment_scans_nothing():
    contents = CountingStore()
    store = fill(window_store(contents=contents), ("a", 1, 0))
    contents.reset_counts()
    fill(store, *((f"k{n}", n, n) for n in range(50)))
    assert (contents.ranges, contents.deletes) == (0, 0)


def entry_keys(contents):
    return [entry_key for entry_key, _ in contents.prefix(ENTRY)]


@clocks
def test_lists_of_duplicates_are_closed_when_they_are_long(clock):
    """The size of a write stays small, and a read skips the lists that are too early for it."""
    contents = CountingStore()
    store = window_store(clock, retention_ms=16_000, contents=contents, retain_duplicates=True)
    for number in range(600):
        store.put("a", f"value {number}", 2 * number)
        store.put("a", f"late {number}", 2 * number)
    assert len(entry_keys(contents)) > 10
    assert max(len(raw) for _, raw in contents.prefix(ENTRY)) < 1100
    expected = [(2 * n, f"{text} {n}") for n in range(600) for text in ("value", "late")]
    assert list(store.fetch("a", 0, 1200)) == expected
    assert store.fetch("a", 1198) == "late 599"
    contents.reset_counts()
    assert list(store.fetch("a", 1100, 1110)) == expected[1100:1112]
    assert contents.ranges == 1


def test_lists_of_duplicates_expire_a_few_per_put():
    contents = MemoryStore()
    store = window_store(retention_ms=30, contents=contents, retain_duplicates=True)
    fill(store, *((f"k{n}", n, n % 10) for n in range(100)), ("z", 0, 70))
    left = []
    for start_ms in range(71, 71 + 48):
        store.put("z", 0, start_ms)
        left.append(sum(read_leading_key(entry_key[9:]) != b"z" for entry_key in entry_keys(contents)))
    assert (left[0], left[-1]) == (100, 0)
    assert max(before - after for before, after in pairwise(left)) == 64


def test_with_a_clock_per_key_lists_of_duplicates_expire_by_their_own_key():
    contents = MemoryStore()
    store = window_store(KeyClock, retention_ms=30, contents=contents, retain_duplicates=True)
    fill(store, ("a", 1, 0), ("b", 1, 0), ("a", 2, 70))
    assert [read_leading_key(entry_key[1:]) for entry_key in entry_keys(contents)] == [b"a", b"b"]
    assert list(store.all()) == [(at("a", 70), 2), (at("b", 0), 1)]


def test_with_a_clock_per_key_a_put_removes_the_entries_that_it_expires():
    contents = MemoryStore()
    fill(window_store(KeyClock, contents=contents), ("a", 1, 0), ("b", 1, 0), ("a", 2, 29), ("a", 3, 31), ("a", 3, 31))
    assert timed_entries_in(contents, segmented=False) == [(b"a", 29), (b"a", 31), (b"b", 0)]


# Random operations against everything ever put, filtered by the rule of retention.

RETENTION = 100_000
KEYS = st.sampled_from(TRICKY_KEYS)
TIMES = st.integers(0, 12).map(lambda n: n * 25_000) | st.integers(0, 400_000)
PUTS = st.tuples(KEYS, st.none() | st.integers(0, 9), TIMES)
STEPS = st.lists(st.sampled_from(["commit", "reopen"]) | PUTS, max_size=40)
variants = pytest.mark.parametrize("backing", [InMemory, InBatches])
few = settings(max_examples=examples(150), deadline=None)


class Model:
    def __init__(self, clock, duplicates=False):
        self.per_key, self.duplicates = clock is KeyClock, duplicates
        self.windows, self.times = {}, {}

    def put(self, key, value, start_ms):
        if value is None and self.duplicates:
            return
        clock = key if self.per_key else None
        self.times[clock] = max(self.times.get(clock, -1), start_ms)
        if value is None:
            self.windows.pop((key, start_ms), None)
        elif self.alive(key, start_ms):
            kept = self.windows.get((key, start_ms), []) if self.duplicates else []
            self.windows[key, start_ms] = [*kept, value]

    def alive(self, key, start_ms):
        return start_ms > self.times.get(key if self.per_key else None, -1) - RETENTION

    def numbered(self):
        return [
            (key, start_ms, number, value)
            for (key, start_ms), values in sorted(self.windows.items())
            if self.alive(key, start_ms)
            for number, value in enumerate(values)
        ]

    def entries(self):
        return [(key, start_ms, value) for key, start_ms, _, value in self.numbered()]


def open_store(backing, clock, duplicates=False):
    contents = backing.contents
    return TypedWindowStore(
        contents,
        clock(contents, RETENTION),
        serdes.Bytes(),
        serdes.Long(),
        window_size_ms=SIZE,
        retain_duplicates=duplicates,
    )


@variants
@clocks
@pytest.mark.parametrize("duplicates", [False, True])
@few
@given(steps=STEPS, bounds=st.tuples(st.none() | KEYS, st.none() | KEYS, TIMES, TIMES))
def test_reads_equal_those_of_a_list_of_all_puts(backing, clock, duplicates, steps, bounds):
    backing, model = backing(), Model(clock, duplicates)
    store = open_store(backing, clock, duplicates)
    for step in steps:
        if step == "commit":
            backing.commit()
        if step in ("commit", "reopen"):
            store = open_store(backing, clock, duplicates)
            continue
        store.put(*step)
        model.put(*step)
        key, _, start_ms = step
        found = [value for k, s, value in model.entries() if (k, s) == (key, start_ms)]
        assert store.fetch(key, start_ms) == (found[-1] if found else None)
    entries = model.entries()
    assert list(store.all()) == [(at(key, start_ms), value) for key, start_ms, value in entries]
    first, last, from_ms, to_ms = bounds
    inside = [entry for entry in entries if from_ms <= entry[1] <= to_ms]
    assert list(store.fetch_all(from_ms, to_ms)) == [(at(key, start_ms), value) for key, start_ms, value in inside]
    for key in TRICKY_KEYS:
        assert list(store.fetch(key, from_ms, to_ms)) == [(s, value) for k, s, value in inside if k == key]
    assert list(store.fetch_range(first, last, from_ms, to_ms)) == [
        (at(key, start_ms), value)
        for key, start_ms, value in inside
        if (first is None or key >= first) and (last is None or key <= last)
    ]
    assert list(store.backward_all()) == list(store.all())[::-1]
    assert list(store.backward_fetch_all(from_ms, to_ms)) == list(store.fetch_all(from_ms, to_ms))[::-1]
    between = (first, last, from_ms, to_ms)
    assert list(store.backward_fetch_range(*between)) == list(store.fetch_range(*between))[::-1]
    for key in TRICKY_KEYS:
        assert list(store.backward_fetch(key, from_ms, to_ms)) == list(store.fetch(key, from_ms, to_ms))[::-1]


@variants
@clocks
@pytest.mark.parametrize("duplicates", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@few
@given(stored=st.lists(PUTS, max_size=20), writes=st.lists(PUTS, max_size=20), of_key=st.none() | KEYS)
def test_an_iterator_sees_writes_that_lie_ahead_of_it(backing, clock, duplicates, reverse, stored, writes, of_key):
    backing, model, last = backing(), Model(clock, duplicates), None
    fill(open_store(backing, clock, duplicates), *stored)
    backing.commit()
    fill(model, *stored)
    store = open_store(backing, clock, duplicates)
    if reverse:
        shown = store.backward_all() if of_key is None else store.backward_fetch(of_key, 0, 400_000)
    else:
        shown = store.all() if of_key is None else store.fetch(of_key, 0, 400_000)
    for write in [*writes, (b"", None, 0)]:
        ahead = [
            (key, start_ms, number, value)
            for key, start_ms, number, value in (reversed(model.numbered()) if reverse else model.numbered())
            if last is None or ((key, start_ms, number) < last if reverse else (key, start_ms, number) > last)
            if of_key in (None, key)
        ]
        entry = next(shown, None)
        if not ahead:
            assert entry is None
            break
        key, start_ms, number, value = ahead[0]
        assert entry == ((at(key, start_ms) if of_key is None else start_ms), value)
        last = key, start_ms, number
        store.put(*write)
        model.put(*write)
