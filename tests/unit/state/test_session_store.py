import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Window, Windowed, serdes
from headrace._state.bytes.memory import MemoryStore
from headrace._state.layouts.retention_clocks import KeyClock, StoreClock
from headrace._state.stores.session import TypedSessionStore
from headrace.errors import StateError
from tests.support.bytestores import TRICKY_KEYS, InBatches, InMemory, timed_entries_in
from tests.support.dose import examples

clocks = pytest.mark.parametrize("clock", [StoreClock, KeyClock])


def session_store(clock=StoreClock, retention_ms=30, contents=None):
    contents = MemoryStore() if contents is None else contents
    return TypedSessionStore(contents, clock(contents, retention_ms), serdes.String(), serdes.Json(), name="visits")


def session(key, start_ms, end_ms):
    return Windowed(key, Window(start_ms, end_ms))


def fill(store, *entries):
    for key, start_ms, end_ms, value in entries:
        store.put(session(key, start_ms, end_ms), value)
    return store


@clocks
def test_sessions_of_a_key_are_ordered_by_end_then_start(clock):
    store = fill(
        session_store(clock), ("a", 0, 20, 1), ("a", 5, 10, 2), ("a", 0, 10, 3), ("a", 15, 15, 4), ("aa", 0, 0, 5)
    )
    assert list(store.fetch("a")) == [
        (session("a", 0, 10), 3),
        (session("a", 5, 10), 2),
        (session("a", 15, 15), 4),
        (session("a", 0, 20), 1),
    ]
    assert list(store.fetch("b")) == []


@clocks
def test_one_session_is_fetched_by_start_and_end(clock):
    store = fill(session_store(clock), ("a", 0, 10, 1), ("a", 0, 10, 2), ("a", 5, 10, 3))
    assert [store.fetch_session("a", *times) for times in ((0, 10), (5, 10), (0, 5), (-1, 10))] == [2, 3, None, None]


@clocks
@pytest.mark.parametrize(
    ("earliest_end_ms", "latest_start_ms", "expected"),
    [
        (5, 12, [(0, 5), (10, 12)]),
        (6, 12, [(10, 12)]),
        (5, 9, [(0, 5)]),
        (13, 30, [(20, 30)]),
        (-9, 0, [(0, 5)]),
        (12, 9, []),
        (31, 99, []),
    ],
)
def test_find_sessions_includes_both_bounds(clock, earliest_end_ms, latest_start_ms, expected):
    store = fill(session_store(clock, 100), ("a", 0, 5, "v"), ("a", 10, 12, "v"), ("a", 20, 30, "v"), ("b", 0, 30, "v"))
    found = list(store.find_sessions("a", earliest_end_ms, latest_start_ms))
    assert found == [(session("a", *times), "v") for times in expected]


@clocks
def test_ranges_and_all_order_by_key_then_end_then_start(clock):
    store = fill(session_store(clock), ("b", 0, 5, 1), ("a", 0, 9, 2), ("ab", 0, 0, 3), ("a", 0, 5, 4))
    expected = [
        (session("a", 0, 5), 4),
        (session("a", 0, 9), 2),
        (session("ab", 0, 0), 3),
        (session("b", 0, 5), 1),
    ]
    assert list(store.all()) == expected
    assert list(store.fetch_range("a", "ab")) == expected[:3]
    assert list(store.fetch_range("ab", None)) == expected[2:]
    assert list(store.fetch_range(None, "a")) == expected[:2]
    assert list(store.fetch_range("b", "a")) == []


@clocks
def test_removed_sessions_are_absent(clock):
    store = fill(session_store(clock), ("a", 0, 5, 1), ("a", 3, 5, 2), ("a", 0, 6, 3))
    store.remove(session("a", 0, 5))
    store.put(session("a", 0, 6), None)
    store.remove(session("never", 0, 0))
    assert list(store.all()) == [(session("a", 3, 5), 2)]


def test_session_expires_when_store_time_reaches_its_end_plus_retention():
    store = fill(session_store(), ("a", 0, 9, 1), ("a", 0, 10, 2), ("a", 0, 11, 3), ("b", 40, 40, 4))
    assert list(store.all()) == [(session("a", 0, 11), 3), (session("b", 40, 40), 4)]
    assert (store.fetch_session("a", 0, 10), store.fetch_session("a", 0, 11)) == (None, 3)
    assert list(store.find_sessions("a", 0, 99)) == [(session("a", 0, 11), 3)]
    fill(store, ("c", 0, 10, 5), ("c", 0, 11, 6))
    assert list(store.fetch("c")) == [(session("c", 0, 11), 6)]


def test_with_a_clock_per_key_other_keys_expire_nothing():
    contents = MemoryStore()
    store = fill(session_store(KeyClock, contents=contents), ("a", 0, 5, 1), ("b", 90, 90, 2), ("a", 0, 4, 3))
    assert list(store.all()) == [(session("a", 0, 4), 3), (session("a", 0, 5), 1), (session("b", 90, 90), 2)]
    fill(store, ("a", 10, 34, 4))
    assert list(store.fetch("a")) == [(session("a", 0, 5), 1), (session("a", 10, 34), 4)]
    assert timed_entries_in(contents, segmented=False, rest_size=8) == [(b"a", 5), (b"a", 34), (b"b", 90)]


@clocks
def test_store_time_survives_a_restart(clock):
    contents = MemoryStore()
    fill(session_store(clock, contents=contents), ("a", 40, 40, None))
    store = fill(session_store(clock, contents=contents), ("a", 0, 10, 1), ("a", 0, 11, 2))
    assert list(store.all()) == [(session("a", 0, 11), 2)]


def test_expired_sessions_are_removed():
    contents = MemoryStore()
    store = fill(session_store(contents=contents), *((f"k{n}", 0, n, n) for n in range(6)))
    fill(store, ("z", 70_000, 70_000, 0), ("z", 70_000, 70_001, 0))
    assert timed_entries_in(contents, segmented=True, rest_size=8) == [(b"z", 70_000), (b"z", 70_001)]


def test_key_none_is_refused():
    with pytest.raises(StateError, match="Store 'visits': the key is None"):
        session_store().put(session(None, 0, 0), 1)


# Random operations against everything ever put, filtered by the rule of retention.

RETENTION = 100_000
KEYS = st.sampled_from(TRICKY_KEYS)
TIMES = st.integers(0, 12).map(lambda n: n * 25_000) | st.integers(0, 400_000)
PUTS = st.tuples(KEYS, TIMES, TIMES, st.none() | st.integers(0, 9)).map(
    lambda put: (put[0], min(put[1:3]), max(put[1:3]), put[3])
)
STEPS = st.lists(st.sampled_from(["commit", "reopen"]) | PUTS, max_size=40)


def open_store(backing, clock):
    return TypedSessionStore(backing.contents, clock(backing.contents, RETENTION), serdes.Bytes(), serdes.Long())


@pytest.mark.parametrize("backing", [InMemory, InBatches])
@clocks
@settings(max_examples=examples(150), deadline=None)
@given(steps=STEPS, bounds=st.tuples(st.none() | KEYS, st.none() | KEYS, TIMES, TIMES))
def test_reads_equal_those_of_a_list_of_all_puts(backing, clock, steps, bounds):
    backing, sessions, times = backing(), {}, {}
    store = open_store(backing, clock)

    def clock_of(key):
        return key if clock is KeyClock else None

    def alive():
        return [
            (key, start_ms, end_ms, value)
            for (key, end_ms, start_ms), value in sorted(sessions.items())
            if end_ms > times[clock_of(key)] - RETENTION
        ]

    for step in steps:
        if step == "commit":
            backing.commit()
        if step in ("commit", "reopen"):
            store = open_store(backing, clock)
            continue
        key, start_ms, end_ms, value = step
        fill(store, step)
        times[clock_of(key)] = max(times.get(clock_of(key), -1), end_ms)
        if end_ms > times[clock_of(key)] - RETENTION:
            sessions[key, end_ms, start_ms] = value
        sessions = {backing: kept for backing, kept in sessions.items() if kept is not None}
        found = [entry[3] for entry in alive() if entry[:3] == (key, start_ms, end_ms)]
        assert store.fetch_session(key, start_ms, end_ms) == (found[0] if found else None)

    def shown(entries):
        return [(session(key, start_ms, end_ms), value) for key, start_ms, end_ms, value in entries]

    first, last, earliest_end_ms, latest_start_ms = bounds
    assert list(store.all()) == shown(alive())
    assert list(store.fetch_range(first, last)) == shown(
        entry for entry in alive() if (first is None or entry[0] >= first) and (last is None or entry[0] <= last)
    )
    for key in TRICKY_KEYS:
        of_key = [entry for entry in alive() if entry[0] == key]
        assert list(store.fetch(key)) == shown(of_key)
        assert list(store.find_sessions(key, earliest_end_ms, latest_start_ms)) == shown(
            entry for entry in of_key if entry[2] >= earliest_end_ms and entry[1] <= latest_start_ms
        )
        assert [store.fetch_session(key, entry[1], entry[2]) for entry in of_key] == [entry[3] for entry in of_key]
        assert list(store.backward_fetch(key)) == list(store.fetch(key))[::-1]
        wanted = key, earliest_end_ms, latest_start_ms
        assert list(store.backward_find_sessions(*wanted)) == list(store.find_sessions(*wanted))[::-1]
    between = first, last, earliest_end_ms, latest_start_ms
    assert list(store.find_sessions_range(*between)) == shown(
        entry
        for entry in alive()
        if (first is None or entry[0] >= first) and (last is None or entry[0] <= last)
        if entry[2] >= earliest_end_ms and entry[1] <= latest_start_ms
    )
    assert list(store.find_sessions_by_end(earliest_end_ms, latest_start_ms)) == shown(
        entry for entry in alive() if earliest_end_ms <= entry[2] <= latest_start_ms
    )
    assert list(store.backward_find_sessions_range(*between)) == list(store.find_sessions_range(*between))[::-1]
    assert list(store.backward_fetch_range(first, last)) == list(store.fetch_range(first, last))[::-1]
    assert list(store.backward_all()) == list(store.all())[::-1]
