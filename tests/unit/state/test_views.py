"""Read-only stores over the stores of several tasks."""

from datetime import timedelta

import pytest

from headrace import Stores, Window, Windowed, serdes
from headrace._runtime.stores import make_store, make_view
from headrace._state.bytes.memory import MemoryStore
from headrace.errors import TopologyError
from headrace.model.stores.specs import TimestampedWindowSpec

SERDES = (serdes.String(), serdes.Json())
MS = timedelta(milliseconds=1)


def parts_and_view(spec, parts=2):
    contents = [MemoryStore() for _ in range(parts)]
    return [make_store(spec, part, SERDES) for part in contents], make_view(spec, contents, SERDES)


def at(key, start_ms, end_ms):
    return Windowed(key, Window(start_ms, end_ms))


@pytest.mark.parametrize(
    ("spec", "timestamp"),
    [
        (Stores.window("w", retention=20 * MS, window_size=10 * MS), ()),
        (TimestampedWindowSpec(name="w", retention_ms=20, window_size_ms=10), (7,)),
    ],
)
def test_windows_of_all_tasks_are_merged_and_expire_by_the_clock_of_their_task(spec, timestamp):
    (one, two), view = parts_and_view(spec)
    for key, value, start_ms in [("a", 1, 0), ("c", 2, 10)]:
        one.put(key, value, start_ms, *timestamp)
    for key, value, start_ms in [("b", 3, 0), ("b", 4, 90), ("b", 5, 80)]:
        two.put(key, value, start_ms, *timestamp)
    expected = [(at("a", 0, 10), 1), (at("b", 80, 90), 5), (at("b", 90, 100), 4), (at("c", 10, 20), 2)]
    assert list(view.all()) == expected
    assert list(view.fetch_all(10, 80)) == [expected[1], expected[3]]
    assert list(view.fetch_range("a", "b", 0, 90)) == expected[:3]
    assert list(view.fetch_range("b", 0, 90)) == list(view.fetch("b", 0, 90)) == [(80, 5), (90, 4)]
    assert list(view.fetch_range("b", from_ms=85, to_ms=90)) == [(90, 4)]
    assert (view.fetch("a", 0), view.fetch("b", 90), view.fetch("b", 0), view.fetch("z", 0)) == (1, 4, None, None)
    assert not hasattr(view, "put")


def test_sessions_of_all_tasks_are_merged_and_expire_by_the_clock_of_their_task():
    (one, two), view = parts_and_view(Stores.session("s", retention=20 * MS))
    for windowed, value in [(at("a", 0, 5), 1), (at("c", 0, 9), 2)]:
        one.put(windowed, value)
    for windowed, value in [(at("b", 0, 5), 3), (at("b", 90, 99), 4), (at("b", 85, 90), 5)]:
        two.put(windowed, value)
    expected = [(at("a", 0, 5), 1), (at("b", 85, 90), 5), (at("b", 90, 99), 4), (at("c", 0, 9), 2)]
    assert list(view.all()) == expected
    assert list(view.fetch_range("b", None)) == expected[1:]
    assert list(view.fetch("b")) == expected[1:3]
    assert list(view.find_sessions("b", 91, 90)) == expected[2:3]
    assert (view.fetch_session("b", 90, 99), view.fetch_session("b", 0, 5)) == (4, None)
    assert not hasattr(view, "remove")


def test_versions_of_all_tasks_are_returned_as_plain_values():
    (one, two), view = parts_and_view(Stores.versioned_key_value("v", history=20 * MS))
    for key, value, timestamp_ms in [("a", 1, 0), ("a", 2, 10), ("c", 3, 20)]:
        one.put(key, value, timestamp_ms)
    for key, value, timestamp_ms in [("b", 4, 0), ("b", 5, 90), ("d", None, 90)]:
        two.put(key, value, timestamp_ms)
    assert list(view.all()) == [("a", 2), ("b", 5), ("c", 3)]
    assert (view.get("a"), view.get("d"), view.get("z")) == (2, None, None)
    assert (view.get_as_of("a", 9), view.get_as_of("b", 9), view.get_as_of("b", 90)) == (1, None, 5)
    assert (view.get_with_timestamp("b"), view.get_with_timestamp("z")) == ((5, 90), None)


@pytest.mark.parametrize(
    "spec",
    [
        Stores.window("w", retention=20 * MS, window_size=10 * MS),
        Stores.session("s", retention=20 * MS),
        Stores.versioned_key_value("v", history=20 * MS),
    ],
)
def test_view_before_any_task_ran_is_empty(spec):
    assert list(parts_and_view(spec, parts=0)[1].all()) == []


def test_view_follows_the_clock_of_a_store_that_is_still_written():
    (store,), view = parts_and_view(Stores.window("w", retention=20 * MS, window_size=10 * MS), parts=1)
    store.put("a", 1, 0)
    assert list(view.all()) == [(at("a", 0, 10), 1)]
    store.put("a", 2, 20)
    assert (view.fetch("a", 0), list(view.all())) == (None, [(at("a", 20, 30), 2)])


def test_window_store_is_created_as_described():
    spec = Stores.window("w", retention=20 * MS, window_size=5 * MS, retain_duplicates=True)
    (store,), view = parts_and_view(spec, parts=1)
    for value in (2, 1):
        store.put("a", value, 0)
    assert (store.name, list(view.all())) == ("w", [(at("a", 0, 5), 2), (at("a", 0, 5), 1)])


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("describe", "message"),
    [
        (
            lambda: Stores.window("w", retention=HOUR, window_size=2 * HOUR),
            "Store 'w': retention is 1:00:00, shorter than window_size, which is 2:00:00. "
            "Give it a retention of 2:00:00 or longer.",
        ),
        (
            lambda: Stores.window("w", retention=HOUR, window_size=0 * HOUR),
            "Store 'w': window_size is 0:00:00; it must be at least one millisecond.",
        ),
        (
            lambda: Stores.window("w", retention=3600, window_size=HOUR),
            "Store 'w': retention is 3600 of type int; a duration is a timedelta, e.g. timedelta(minutes=5).",
        ),
        (
            lambda: Stores.session("s", retention=-HOUR),
            "Store 's': retention is -1 day, 23:00:00; it must be at least one millisecond.",
        ),
        (
            lambda: Stores.versioned_key_value("v", history=timedelta(microseconds=999)),
            "Store 'v': history is 0:00:00.000999; it must be at least one millisecond.",
        ),
        (
            lambda: Stores.session("s/t", retention=HOUR),
            "'s/t' cannot name a store: allowed are 1-249 ASCII letters, digits, '.', '_' and '-', "
            "but not '.' or '..' alone.",
        ),
    ],
)
def test_invalid_store_descriptions_are_refused(describe, message):
    with pytest.raises(TopologyError) as refused:
        describe()
    assert str(refused.value) == message
