import pickle
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import serdes
from headrace._state.bytes.composite import EXPIRY, HISTORY, LATEST, descending_time_bytes
from headrace._state.bytes.memory import MemoryStore
from headrace._state.stores.versioned import NEWEST, NOT_PUT, TypedVersionedStore
from headrace.errors import StateError
from headrace.model.stores.interfaces import VersionedRecord
from tests.support.bytestores import TRICKY_KEYS, CountingStore, InBatches, InMemory
from tests.support.dose import examples


def versioned_store(history_ms=10, contents=None):
    contents = MemoryStore() if contents is None else contents
    return TypedVersionedStore(contents, history_ms, serdes.String(), serdes.Json(), name="prices")


def put_all(store, *versions):
    return [store.put("k", value, timestamp_ms) for value, timestamp_ms in versions]


SEED = [("ab", 10), ("x", 5), ("cd", 20), ("y", 15), ("z", 9), ("z", 10), (None, 25), ("q", 24), ("w", 24)]


def test_put_returns_the_end_of_the_versions_validity():
    assert put_all(versioned_store(), *SEED) == [NEWEST, 10, NEWEST, 20, NOT_PUT, 15, NEWEST, 25, 25]


def test_as_of_reads_return_the_version_that_was_valid():
    store = versioned_store()
    put_all(store, *SEED)
    expected = {14: None, 23: ("cd", 20), 24: ("w", 24), 25: None, 99: None}
    expected |= dict.fromkeys(range(15, 20), ("y", 15)) | dict.fromkeys(range(20, 24), ("cd", 20))
    assert {as_of_ms: store.get_as_of("k", as_of_ms) for as_of_ms in expected} == expected


def test_put_and_get_report_the_latest_version_before_each_put():
    store = versioned_store()
    seen = []
    for value, timestamp_ms in [("ab", 10), ("x", 5), ("cd", 20), ("y", 15), ("z", 9), ("z", 10), (None, 25)]:
        old = store.get("k")
        valid_to = store.put("k", value, timestamp_ms)
        if valid_to != NOT_PUT:
            seen.append((value, timestamp_ms, None if old is None else old.value, valid_to == NEWEST))
    assert seen == [
        ("ab", 10, None, True),
        ("x", 5, "ab", False),
        ("cd", 20, "ab", True),
        ("y", 15, "cd", False),
        ("z", 10, "cd", False),
        (None, 25, "cd", True),
    ]


def test_get_returns_the_latest_version_with_its_timestamp():
    store = versioned_store()
    assert put_all(store, ("new", 20), ("old", 15)) == [NEWEST, 20]
    assert store.get("k") == VersionedRecord("new", 20)
    assert store.get("k").timestamp_ms == 20
    assert (store.get("other"), store.get("")) == (None, None)


def test_a_version_with_the_same_timestamp_is_replaced():
    store = versioned_store(100)
    assert put_all(store, ("a", 10), ("b", 10), ("c", 20), ("d", 10)) == [NEWEST, NEWEST, NEWEST, 20]
    assert [store.get_as_of("k", at) for at in (9, 10, 19, 20)] == [None, ("d", 10), ("d", 10), ("c", 20)]


def test_latest_version_outlives_the_history_and_superseded_ones_do_not():
    store = versioned_store(10)
    put_all(store, ("a", 10), ("b", 15))
    store.put("other", "moves time", 100)
    assert [store.get_as_of("k", at) for at in (10, 14, 15, 89, 100)] == [None, None, ("b", 15), ("b", 15), ("b", 15)]


def test_put_exactly_as_old_as_the_history_is_accepted():
    store = versioned_store(10)
    store.put("other", "moves time", 20)
    assert put_all(store, ("too old", 9), ("old", 10)) == [NOT_PUT, NEWEST]
    assert store.get("k") == ("old", 10)


def test_deletion_without_a_version_still_ends_older_ones():
    store = versioned_store(10)
    assert put_all(store, (None, 20), ("a", 15), (None, 12), ("b", 11)) == [NEWEST, 20, 15, 12]
    assert [store.get_as_of("k", at) for at in (10, 11, 12, 14, 15, 19, 20)] == [
        None,
        ("b", 11),
        None,
        None,
        ("a", 15),
        ("a", 15),
        None,
    ]


def test_delete_returns_the_version_valid_at_that_time():
    store = versioned_store(10)
    put_all(store, ("a", 10), ("b", 20))
    assert store.delete("k", 15) == ("a", 10)
    assert store.delete("k", 16) is None
    assert store.delete("k", 30) == ("b", 20)
    assert store.delete("k", 19) is None
    assert [store.get_as_of("k", at) for at in (20, 29, 30)] == [("b", 20), ("b", 20), None]


def test_rejected_delete_changes_nothing():
    store = versioned_store(10)
    store.put("other", "moves time", 20)
    put_all(store, ("a", 15))
    assert store.delete("k", 9) is None
    assert store.get("k") == ("a", 15)


def test_all_returns_the_latest_versions_in_key_order_without_deletions():
    store = versioned_store(10)
    for key, value, at in [("b", 1, 1), ("a", 2, 2), ("ab", 3, 3), ("a", 4, 4), ("b", None, 5), ("", 6, 6)]:
        store.put(key, value, at)
    assert list(store.all()) == [("", (6, 6)), ("a", (4, 4)), ("ab", (3, 3))]


def test_store_time_survives_a_restart():
    contents = MemoryStore()
    put_all(versioned_store(10, contents), ("a", 20))
    store = versioned_store(10, contents)
    assert put_all(store, ("b", 9), ("c", 10)) == [NOT_PUT, 20]


def test_key_none_is_refused():
    with pytest.raises(StateError, match="Store 'prices': the key is None"):
        versioned_store().put(None, 1, 0)


@pytest.mark.parametrize("timestamp_ms", [-1, 0.5])
def test_invalid_timestamp_is_refused_and_changes_nothing(timestamp_ms):
    store = versioned_store()
    with pytest.raises(StateError, match="is not a time"):
        store.put("k", 1, timestamp_ms)
    assert (list(store.all()), store.put("k", 2, 0)) == ([], NEWEST)


def physical(contents, kind):
    return [key for key, _ in contents.prefix(kind)]


def test_superseded_versions_and_deleted_keys_leave_nothing_behind():
    contents = MemoryStore()
    store = versioned_store(10, contents)
    for n in range(5):
        store.put(f"k{n}", "a", 10 * n)
        store.put(f"k{n}", "b", 10 * n + 1)
        store.delete(f"k{n}", 10 * n + 2)
    for n in range(20):
        store.put("z", n, 70_000)
    assert (physical(contents, LATEST), physical(contents, HISTORY), physical(contents, EXPIRY)) == (
        [LATEST + b"z"],
        [],
        [],
    )


def test_version_is_removed_only_when_it_is_valid_at_no_time_in_the_history():
    contents = MemoryStore()
    put_all(versioned_store(10, contents), ("a", 60_000), ("b", 65_001), ("c", 65_002))
    store = versioned_store(10, contents)
    store.put("other", "moves time", 65_010)
    assert [store.get_as_of("k", at) for at in (64_999, 65_000, 65_001)] == [None, ("a", 60_000), ("b", 65_001)]
    store = versioned_store(10, contents)
    store.put("other", "moves time", 65_011)
    assert physical(contents, HISTORY) == [
        HISTORY + b"k\x00\x00" + descending_time_bytes(65_001),
        HISTORY + b"other\x00\x00" + descending_time_bytes(65_010),
    ]


def test_deletion_overwritten_at_its_own_timestamp_removes_nothing():
    contents = MemoryStore()
    store = versioned_store(100_000, contents)
    put_all(store, (None, 10), ("a", 10), ("b", 99_000))
    for n in range(9):
        store.put("z", n, 100_011 + n)
    assert [store.get_as_of("k", at) for at in (20, 98_999, 99_000)] == [("a", 10), ("a", 10), ("b", 99_000)]


def test_in_order_puts_and_reads_of_the_latest_version_need_no_scan():
    contents = CountingStore()
    store = versioned_store(100, contents)
    put_all(store, ("a", 1))
    contents.reset_counts()
    put_all(store, *((n, n) for n in range(1, 50)))
    assert [store.get_as_of("k", at) for at in (49, 1_000)] == [(49, 49), (49, 49)]
    assert (contents.ranges, contents.deletes) == (0, 0)


def test_history_of_a_key_has_versions_with_the_end_of_their_validity_and_no_deletions():
    store = versioned_store(100)
    put_all(store, ("a", 10), (None, 30), ("b", 20), ("c", 40))
    everything = [("a", 10, 20), ("b", 20, 30), ("c", 40, None)]
    assert spelled_out(store.versions("k")) == everything
    assert spelled_out(store.versions("k", descending=True)) == everything[::-1]
    assert spelled_out(store.versions("k", 20, 39)) == [("b", 20, 30)]
    assert spelled_out(store.versions("k", 19, 19)) == [("a", 10, 20)]
    assert spelled_out(store.versions("k", 30, 39)) == spelled_out(store.versions("k", 39, 30)) == []
    assert spelled_out(store.versions("k", to_ms=-1)) == spelled_out(store.versions("other")) == []


def test_history_before_its_beginning_knows_only_the_latest_version():
    store = versioned_store(10)
    put_all(store, ("a", 10), ("b", 20))
    store.put("z", 0, 100)
    assert spelled_out(store.versions("k")) == [("b", 20, None)]
    assert spelled_out(store.versions("k", 0, 19)) == []
    assert spelled_out(store.versions("k", 0, 50)) == [("b", 20, None)]


def test_versions_are_those_of_the_time_of_the_call():
    store = versioned_store(100)
    put_all(store, ("a", 10), ("b", 20))
    versions = store.versions("k")
    store.put("k", "c", 30)
    assert spelled_out(versions) == [("a", 10, 20), ("b", 20, None)]


def test_a_version_survives_pickling_with_the_end_of_its_validity():
    version = pickle.loads(pickle.dumps(VersionedRecord("a", 10, 20)))
    assert (version, version.valid_to_ms) == (("a", 10), 20)


# Random operations against a list of all versions ever accepted.

HISTORY_MS = 100_000
KEYS = st.sampled_from(TRICKY_KEYS)
TIMES = st.integers(0, 12).map(lambda n: n * 25_000) | st.integers(0, 400_000) | st.integers(0, 3)
PUTS = st.tuples(KEYS, st.none() | st.integers(0, 9), TIMES)
STEPS = st.lists(st.sampled_from(["commit", "reopen"]) | PUTS, max_size=50)


def open_store(backing):
    return TypedVersionedStore(backing.contents, HISTORY_MS, serdes.Bytes(), serdes.Long())


class Model:
    def __init__(self):
        self.versions, self.time_ms = {}, -1

    def put(self, key, value, timestamp_ms):
        if timestamp_ms < self.time_ms - HISTORY_MS:
            return NOT_PUT
        self.time_ms = max(self.time_ms, timestamp_ms)
        self.versions.setdefault(key, {})[timestamp_ms] = value
        return min((t for t in self.versions[key] if t > timestamp_ms), default=NEWEST)

    def get_as_of(self, key, as_of_ms):
        versions = self.versions.get(key, {})
        valid_from = max((t for t in versions if t <= as_of_ms), default=None)
        if valid_from is None or (as_of_ms < self.time_ms - HISTORY_MS and valid_from != max(versions)):
            return None
        value = versions[valid_from]
        return None if value is None else (value, valid_from)

    def history(self, key, from_ms, to_ms):
        """Value, timestamp and end of validity of every version valid at some time within the history."""
        versions = sorted(self.versions.get(key, {}).items())
        ends = [*(timestamp_ms for timestamp_ms, _ in versions[1:]), None]
        oldest_ms = max(from_ms, self.time_ms - HISTORY_MS)
        return [
            (value, timestamp_ms, end_ms)
            for (timestamp_ms, value), end_ms in zip(versions, ends, strict=False)
            if timestamp_ms <= to_ms and (end_ms is None or (end_ms > oldest_ms and to_ms >= oldest_ms))
            if value is not None
        ]


def spelled_out(versions):
    return [(version.value, version.timestamp_ms, version.valid_to_ms) for version in versions]


@pytest.mark.parametrize("backing", [InMemory, InBatches])
@settings(max_examples=examples(300), deadline=None)
@given(steps=STEPS, asked=st.lists(TIMES, max_size=8))
def test_reads_equal_those_of_a_list_of_all_versions(backing, steps, asked):
    backing, model = backing(), Model()
    store = open_store(backing)
    for step in steps:
        if step == "commit":
            backing.commit()
        if step in ("commit", "reopen"):
            store = open_store(backing)
            continue
        assert store.put(*step) == model.put(*step)
        key, _, timestamp_ms = step
        assert store.get_as_of(key, timestamp_ms) == model.get_as_of(key, timestamp_ms)
    times = [*asked, *(t + shift for versions in model.versions.values() for t in versions for shift in (-1, 0))]
    for key in TRICKY_KEYS:
        assert {t: store.get_as_of(key, t) for t in times} == {t: model.get_as_of(key, t) for t in times}
    latest = [(key, model.get_as_of(key, 1 << 62)) for key in TRICKY_KEYS]
    assert [(key, store.get(key)) for key in TRICKY_KEYS] == latest
    assert list(store.all()) == sorted(entry for entry in latest if entry[1] is not None)
    assert list(store.reverse_all()) == list(store.all())[::-1]
    for from_ms, to_ms in pairwise([0, *asked, 1 << 62]):
        for key in TRICKY_KEYS:
            expected = model.history(key, from_ms, to_ms)
            assert spelled_out(store.versions(key, from_ms, to_ms)) == expected
            assert spelled_out(store.versions(key, from_ms, to_ms, descending=True)) == expected[::-1]
    for key in TRICKY_KEYS:
        assert spelled_out(store.versions(key)) == model.history(key, 0, 1 << 62)
        for version in store.versions(key):
            assert store.get_as_of(key, version.timestamp_ms) in (version, None)
            found = store.get_as_of(key, (version.valid_to_ms or 1 << 62) - 1)
            assert spelled_out([found]) == spelled_out([version])
