"""The behaviour of all byte stores: in memory, and a batch's changes on top of a snapshot of a replica."""

import tempfile
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace._state.bytes.api import next_key, prefix_end
from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore
from headrace._state.changes.delta import sort_changes
from headrace._state.replica.position import ORIGIN
from headrace._state.replica.replica import Replica
from tests.support.dose import examples

LONG = b"L" * 511
KEYS = st.one_of(
    st.binary(max_size=2),
    st.sampled_from(
        [b"", LONG[:509], LONG[:510], LONG, LONG + b"\x00", LONG + b"a", LONG + b"b" * 9, b"M", b"\xff" * 513]
    ),
)
ENTRIES = st.dictionaries(KEYS, st.binary(max_size=3), max_size=12)
CHANGES = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=3)), max_size=12)


@contextmanager
def memory(stored):
    store = MemoryStore()
    store.put_many(stored.items())
    yield store


@contextmanager
def overlay_over_memory(stored):
    with memory(stored) as base:
        yield OverlayStore(base)


@contextmanager
def overlay_over_replica(stored):
    with tempfile.TemporaryDirectory() as root:
        replica = Replica(Path(root), map_size=1 << 22)
        assert replica.apply(sort_changes({"store": stored}), ORIGIN, ORIGIN.next())
        with replica.snapshot() as snapshot:
            yield OverlayStore(snapshot.reader("store"))
        replica.close()


stores = pytest.mark.parametrize("make", [memory, overlay_over_memory, overlay_over_replica])
few = settings(max_examples=examples(40), deadline=None)


@stores
@few
@given(stored=ENTRIES, changes=CHANGES, low=st.none() | KEYS, high=st.none() | KEYS)
def test_reads_equal_those_of_a_dict(make, stored, changes, low, high):
    model = dict(stored)
    with make(stored) as store:
        for key, value in changes:
            if value is None:
                store.delete(key)
                model.pop(key, None)
            else:
                store.put(key, value)
                model[key] = value
            assert store.get(key) == value
        inside = [key for key in sorted(model) if (low is None or key >= low) and (high is None or key < high)]
        assert list(store.range(low, high)) == [(key, model[key]) for key in inside]
        assert list(store.reverse_range(low, high)) == [(key, model[key]) for key in reversed(inside)]
        if low is not None:
            assert list(store.prefix(low)) == [(key, model[key]) for key in sorted(model) if key.startswith(low)]
        asked = [*model, *stored, b"absent"]
        assert store.get_many(asked) == [model.get(key) for key in asked]


@stores
@pytest.mark.parametrize("reverse", [False, True])
@few
@given(stored=ENTRIES, writes=CHANGES)
def test_an_iterator_sees_writes_that_lie_ahead_of_it(make, reverse, stored, writes):
    model, last = dict(stored), None
    with make(stored) as store:
        entries = (store.reverse_range if reverse else store.range)(None, None)
        for key, value in [*writes, (b"", None)]:
            ahead = [
                entry
                for entry in sorted(model.items(), reverse=reverse)
                if last is None or (entry[0] < last if reverse else entry[0] > last)
            ]
            assert next(entries, None) == (ahead[0] if ahead else None)
            if not ahead:
                break
            last = ahead[0][0]
            store.put_many([(key, value)])
            model[key] = value
            model = {key: value for key, value in model.items() if value is not None}


def test_a_reverse_scan_of_a_replica_reads_pages_from_the_end():
    stored = {b"%06d" % number: b"v" * (number % 7) for number in range(5_000)} | {b"": b"e", LONG + b"x": b"l"}
    with overlay_over_replica(stored) as store:
        store.delete(b"004999")
        store.put(b"0049985", b"new")
        assert [key for key, _ in islice(store.reverse_range(None, None), 3)] == [LONG + b"x", b"0049985", b"004998"]
        for start, end in [(None, None), (b"000100", b"003000"), (b"", LONG + b"x"), (b"0", LONG + b"z"), (LONG, None)]:
            assert list(store.reverse_range(start, end)) == list(store.range(start, end))[::-1]


@stores
def test_approximate_len_counts_entries(make):
    with make({b"a": b"1", b"b": b"2", b"": b"3"}) as store:
        store.delete(b"a")
        store.delete(b"never there")
        store.put(b"b", b"2")
        store.put(b"c", b"3")
        assert store.approximate_len() == 3


@stores
def test_empty_value_is_a_value(make):
    with make({b"a": b""}) as store:
        store.put(b"b", b"")
        assert list(store.range(None, None)) == [(b"a", b""), (b"b", b"")]


@pytest.mark.parametrize(
    ("prefix", "end"),
    [(b"", None), (b"a", b"b"), (b"a\xff", b"b"), (b"\xff", None), (b"\xff\xff", None), (b"a\x00", b"a\x01")],
)
def test_prefix_end_is_the_end_of_all_keys_with_a_prefix(prefix, end):
    assert prefix_end(prefix) == end


def test_next_key_is_the_smallest_greater_key():
    assert sorted([b"a", next_key(b"a"), b"a\x00\x00", b"b"])[1] == next_key(b"a")
