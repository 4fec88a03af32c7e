"""The store with a bounded number of entries: which entry is evicted, and that a restart does not change it."""

from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Stores, TopologyError, serdes
from headrace._runtime.stores import make_store, make_view
from headrace._state.bytes.memory import MemoryStore
from headrace._state.layouts.lru import LruEntries
from tests.support.bytestores import TRICKY_KEYS, InBatches, InMemory
from tests.support.dose import examples

SERDES = (serdes.String(), serdes.Long())


def lru_map(contents, max_entries=3):
    return make_store(Stores.lru_map("recent", max_entries=max_entries), contents, SERDES)


def fill(store, keys):
    for number, key in enumerate(keys):
        store.put(key, number)
    return store


def test_the_least_recently_used_entry_is_evicted():
    store = fill(lru_map(MemoryStore()), "abc")
    assert store.get("a") == 0
    store.put("b", 7)
    store.put("d", 8)
    assert list(store.all()) == [("a", 0), ("b", 7), ("d", 8)]
    assert (store.get("c"), store.approximate_num_entries()) == (None, 3)


def test_a_get_of_a_missing_key_and_scans_are_no_use():
    store = fill(lru_map(MemoryStore()), "abc")
    assert store.get("z") is None
    assert [key for key, _ in store.range("a", "b")] == ["a", "b"]
    assert [key for key, _ in store.reverse_all()] == ["c", "b", "a"]
    assert [key for key, _ in store.prefix_scan("a")] == ["a"]
    store.put("d", 4)
    assert [key for key, _ in store.all()] == ["b", "c", "d"]


def test_a_deleted_entry_makes_room():
    store = fill(lru_map(MemoryStore()), "abc")
    assert (store.delete("b"), store.delete("b")) == (1, None)
    store.put("c", None)
    fill(store, "de")
    assert [key for key, _ in store.all()] == ["a", "d", "e"]


def test_put_if_absent_of_a_present_key_is_a_use():
    store = fill(lru_map(MemoryStore()), "abc")
    assert (store.put_if_absent("a", 9), store.put_if_absent("d", 4)) == (0, None)
    assert list(store.all()) == [("a", 0), ("c", 2), ("d", 4)]


def test_a_smaller_bound_takes_effect_with_the_next_new_key():
    contents = MemoryStore()
    fill(lru_map(contents), "abc").get("a")
    store = lru_map(contents, max_entries=2)
    assert store.get("c") == 2
    store.put("d", 4)
    assert list(store.all()) == [("c", 2), ("d", 4)]


def test_queries_see_the_entries_of_all_tasks_and_do_not_use_them():
    spec = Stores.lru_map("recent", max_entries=2)
    parts = [MemoryStore(), MemoryStore()]
    one, two = (make_store(spec, part, SERDES) for part in parts)
    fill(one, "ac"), fill(two, "bd")
    view = make_view(spec, parts, SERDES)
    assert (view.get("a"), view.get("z"), view.approximate_num_entries()) == (0, None, 4)
    assert [key for key, _ in view.all()] == ["a", "b", "c", "d"]
    assert [key for key, _ in view.reverse_range("b", "c")] == ["c", "b"]
    one.put("e", 5)
    assert [key for key, _ in view.all()] == ["b", "c", "d", "e"]
    assert not hasattr(view, "put")


@pytest.mark.parametrize("max_entries", [0, -1, 1.5, True, "3"])
def test_a_bound_that_is_no_positive_integer_is_refused(max_entries):
    with pytest.raises(TopologyError, match=r"Store 'recent': max_entries is .*; it must be an integer of 1 or more\."):
        Stores.lru_map("recent", max_entries=max_entries)


KEYS = st.sampled_from([*TRICKY_KEYS, b"L" * 600, b"L" * 600 + b"a"])
STEPS = st.lists(
    st.sampled_from(["commit", "reopen"])
    | st.tuples(st.sampled_from(["get", "delete"]), KEYS)
    | st.tuples(st.just("put"), KEYS, st.binary(max_size=2)),
    max_size=60,
)


class Model:
    """Java's `LinkedHashMap` in the order of access, which Kafka Streams uses."""

    def __init__(self, max_entries):
        self.entries, self.max_entries = OrderedDict(), max_entries

    def get(self, key):
        if key in self.entries:
            self.entries.move_to_end(key)
        return self.entries.get(key)

    def put(self, key, value):
        self.entries[key] = value
        self.entries.move_to_end(key)
        if len(self.entries) > self.max_entries:
            self.entries.popitem(last=False)

    def delete(self, key):
        self.entries.pop(key, None)


@pytest.mark.parametrize("backing", [InMemory, InBatches])
@settings(max_examples=examples(200), deadline=None)
@given(steps=STEPS, max_entries=st.integers(1, 5))
def test_entries_equal_those_of_a_linked_hash_map(backing, steps, max_entries):
    backing, model = backing(), Model(max_entries)
    store = LruEntries(backing.contents, max_entries)
    for step in steps:
        if step == "commit":
            backing.commit()
        if step in ("commit", "reopen"):
            store = LruEntries(backing.contents, max_entries)
            continue
        operation, *arguments = step
        assert getattr(store, operation)(*arguments) == getattr(model, operation)(*arguments)
        assert list(store.range(None, None)) == sorted(model.entries.items())
        assert store.approximate_len() == len(model.entries)
    assert list(store.reverse_range(None, None)) == sorted(model.entries.items(), reverse=True)
