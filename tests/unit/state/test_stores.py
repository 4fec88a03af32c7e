import logging

import pytest

from headrace import serdes
from headrace._state.bytes.memory import MemoryStore
from headrace._state.stores.key_value import (
    TypedKeyValueStore,
    TypedTimestampedKeyValueStore,
    timestamp_of,
    with_timestamp,
)
from headrace.errors import SerdeError, StateError


@pytest.fixture
def store():
    return TypedKeyValueStore(MemoryStore(), serdes.String(), serdes.Json(), name="cities")


@pytest.fixture
def timestamped():
    return TypedTimestampedKeyValueStore(MemoryStore(), serdes.String(), serdes.Json(), name="cities")


def test_put_get_delete(store):
    store.put("bern", {"n": 1})
    assert store.get("bern") == {"n": 1}
    assert store.delete("bern") == {"n": 1}
    assert store.delete("bern") is None
    assert store.get("bern") is None


def test_putting_none_removes_the_key(store):
    store.put_all([("bern", 1), ("basel", 2), ("bern", None)])
    assert list(store.all()) == [("basel", 2)]
    assert store.approximate_num_entries() == 1


def test_put_if_absent_returns_the_existing_value(store):
    assert store.put_if_absent("bern", 1) is None
    assert store.put_if_absent("bern", 2) == 1
    assert store.get("bern") == 1


def test_stored_value_is_not_shared_with_callers(store):
    value = {"n": [1]}
    store.put("bern", value)
    value["n"].append(2)
    store.get("bern")["n"].append(3)
    assert store.get("bern") == {"n": [1]}


@pytest.mark.parametrize(
    ("first", "last", "keys"),
    [(None, None, "abc"), ("a", "b", "ab"), ("b", None, "bc"), (None, "b", "ab"), ("aa", "bb", "b"), ("b", "b", "b")],
)
def test_range_includes_both_ends(store, first, last, keys):
    store.put_all([("c", 3), ("a", 1), ("b", 2)])
    assert [key for key, _ in store.range(first, last)] == list(keys)


def test_range_that_runs_backwards_is_empty_and_warns(caplog):
    store = TypedKeyValueStore(MemoryStore(), serdes.Long(), serdes.Long(), name="numbers")
    store.put_all([(-1, 1), (1, 2)])
    with caplog.at_level(logging.WARNING):
        assert list(store.range(-1, 1)) == []
    assert "Store 'numbers': the range from -1 to 1 is empty" in caplog.text


def test_prefix_scan_accepts_a_serde_for_the_prefix():
    store = TypedKeyValueStore(MemoryStore(), serdes.Long(), serdes.Long())
    store.put_all([(1, 1), (2, 2), (2**40, 3)])
    assert list(store.prefix_scan(0, serdes.Int())) == [(1, 1), (2, 2)]


def test_prefix_scan_by_default_uses_the_key_serde(store):
    store.put_all([("aa", 1), ("ab", 2), ("b", 3)])
    assert list(store.prefix_scan("a")) == [("aa", 1), ("ab", 2)]


@pytest.mark.parametrize("call", [lambda s: s.get(None), lambda s: s.put(None, 1), lambda s: s.delete(None)])
def test_key_none_is_refused(store, call):
    with pytest.raises(StateError, match="Store 'cities': the key is None"):
        call(store)


def test_value_that_the_serde_refuses_does_not_change_the_store(store):
    store.put("bern", 1)
    with pytest.raises(SerdeError):
        store.put("bern", object())
    assert store.get("bern") == 1


def test_timestamped_entries_are_pairs(timestamped):
    timestamped.put("bern", {"n": 1}, 12)
    timestamped.put("basel", 2, -1)
    assert timestamped.get("bern") == ({"n": 1}, 12)
    assert list(timestamped.all()) == [("basel", (2, -1)), ("bern", ({"n": 1}, 12))]
    assert timestamped.put_if_absent("bern", 5, 99) == ({"n": 1}, 12)
    assert timestamped.delete("bern") == ({"n": 1}, 12)


def test_timestamped_put_of_none_stores_nothing(timestamped):
    timestamped.put("bern", 1, 12)
    timestamped.put("bern", None, 13)
    assert timestamped.get("bern") is None
    assert timestamped.approximate_num_entries() == 0


def test_timestamped_values_have_the_byte_format_of_kafka_streams():
    raw = MemoryStore()
    TypedTimestampedKeyValueStore(raw, serdes.String(), serdes.String()).put("k", "v", 258)
    assert raw.get(b"k") == bytes([0, 0, 0, 0, 0, 0, 1, 2]) + b"v" == with_timestamp(b"v", 258)
    assert timestamp_of(raw.get(b"k")) == 258
