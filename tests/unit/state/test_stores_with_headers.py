"""Stores that keep headers, and views that show timestamps and headers."""

from datetime import timedelta

import pytest

from headrace import AggregationWithHeaders, StateError, Stores, ValueTimestampHeaders, Window, Windowed, serdes
from headrace._runtime.stores import make_store, make_view
from headrace._state.bytes.memory import MemoryStore

SERDES = (serdes.String(), serdes.Json())
MS = timedelta(milliseconds=1)
TRACE = (("trace", b"t1"), ("trace", None), ("", b""))


def store_and_view(spec):
    contents = MemoryStore()
    return make_store(spec, contents, SERDES), make_view(spec, [contents, MemoryStore()], SERDES)


def test_key_values_are_stored_with_timestamp_and_headers():
    store, view = store_and_view(Stores.timestamped_key_value_with_headers("h"))
    store.put("a", 1, 5, TRACE)
    store.put("b", 2, 6)
    assert store.put_if_absent("a", 9, 9) == ValueTimestampHeaders(1, 5, TRACE)
    assert list(store.reverse_all()) == [("b", (2, 6, ())), ("a", (1, 5, TRACE))]
    assert list(view.all()) == [("a", 1), ("b", 2)]
    assert (view.get("a"), view.get_with_timestamp("a"), view.with_headers().get("a")) == (1, (1, 5), (1, 5, TRACE))
    assert list(view.with_timestamps().reverse_range()) == [("b", (2, 6)), ("a", (1, 5))]
    store.put_all([*store.all(), ("c", (3, 7, ())), ("b", None)])
    assert list(view.with_headers().all()) == [("a", (1, 5, TRACE)), ("c", (3, 7, ()))]
    assert (store.delete("a"), store.get("a"), store.put("c", None, 8)) == ((1, 5, TRACE), None, None)
    assert list(store.all()) == []


def test_windows_are_stored_with_timestamp_and_headers():
    store, view = store_and_view(Stores.timestamped_window_with_headers("h", retention=20 * MS, window_size=10 * MS))
    store.put("a", 1, 0, 5, TRACE)
    store.put("a", 2, 10, 12)
    assert store.fetch("a", 0) == ValueTimestampHeaders(1, 5, TRACE)
    assert list(view.backward_fetch("a", 0, 10)) == [(10, 2), (0, 1)]
    assert list(view.with_timestamps().fetch("a", 0, 10)) == [(0, (1, 5)), (10, (2, 12))]
    assert view.with_headers().fetch("a", 0) == (1, 5, TRACE)
    store.put("a", None, 0, 13)
    assert [(str(key), value) for key, value in view.all()] == [("[a@10/20]", 2)]


def test_sessions_are_stored_with_headers():
    store, view = store_and_view(Stores.session_with_headers("h", retention=20 * MS))
    store.put(Windowed("a", Window(0, 5)), 1, TRACE)
    store.put(Windowed("a", Window(9, 9)), 2)
    assert store.fetch_session("a", 0, 5) == AggregationWithHeaders(1, TRACE)
    assert [(str(key), value) for key, value in view.backward_fetch("a")] == [("[a@9/9]", 2), ("[a@0/5]", 1)]
    assert [value for _, value in view.with_headers().fetch("a")] == [(1, TRACE), (2, ())]
    assert (view.fetch_session("a", 9, 9), view.with_headers().fetch_session("a", 9, 9)) == (2, (2, ()))
    store.remove(Windowed("a", Window(0, 5)))
    assert [value for _, value in store.all()] == [(2, ())]


@pytest.mark.parametrize("headers", [((b"name", b""),), (("name", "text"),)])
def test_headers_that_are_no_headers_are_refused(headers):
    store, _ = store_and_view(Stores.timestamped_key_value_with_headers("h"))
    with pytest.raises(StateError, match="its name must be a str, its value bytes or None"):
        store.put("a", 1, 5, headers)


def test_timestamps_of_all_windows_can_be_read():
    store, view = store_and_view(Stores.timestamped_window("w", retention=20 * MS, window_size=10 * MS))
    for key, value, start_ms, timestamp_ms in [("a", 1, 0, 7), ("b", 2, 0, 8), ("a", 3, 10, 11)]:
        store.put(key, value, start_ms, timestamp_ms)
    assert store.fetch("a", 0).timestamp_ms == 7
    shown = [(str(key), value, timestamp_ms) for key, (value, timestamp_ms) in view.with_timestamps().all()]
    assert shown == [("[a@0/10]", 1, 7), ("[a@10/20]", 3, 11), ("[b@0/10]", 2, 8)]
    assert [value for _, value in view.backward_fetch_range("a", "a", 0, 10)] == [3, 1]


def test_a_timestamped_window_store_can_retain_duplicates():
    spec = Stores.timestamped_window("w", retention=20 * MS, window_size=10 * MS, retain_duplicates=True)
    store, view = store_and_view(spec)
    for value in (1, 2, 3):
        store.put("a", value, 0, 5 + value)
    assert list(store.backward_fetch("a", 0, 9)) == [(0, (3, 8)), (0, (2, 7)), (0, (1, 6))]
    assert list(view.fetch("a", 0, 9)) == [(0, 1), (0, 2), (0, 3)]


def test_rows_are_put_all_at_once_as_they_are_read():
    store, view = store_and_view(Stores.timestamped_key_value("t"))
    store.put_all([("a", (1, 5)), ("b", (2, 6)), ("c", (3, 7)), ("b", None), ("c", (None, 8))])
    assert list(store.all()) == [("a", (1, 5))]
    assert list(view.with_timestamps().all()) == [("a", (1, 5))]
    assert (store.get("a").value, store.get("a").timestamp_ms) == (1, 5)
