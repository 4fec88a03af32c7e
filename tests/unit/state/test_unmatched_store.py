"""Unmatched records: their order, when they are evicted, and the value of `next` then; batches change nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import serdes
from headrace._runtime.stores import make_store, make_view
from headrace._state.bytes.memory import MemoryStore
from headrace._state.stores.unmatched import UnmatchedRecord, UnmatchedStore, Waits
from headrace.model.stores.specs import UnmatchedSpec
from headrace.serdes.wrapping.sides import LEFT, RIGHT, Sides, SideValue
from tests.support.bytestores import CountingStore, InBatches, InMemory
from tests.support.dose import examples

VALUES = Sides(serdes.String(), serdes.Long())


def unmatched(contents=None, **options):
    return UnmatchedStore(MemoryStore() if contents is None else contents, serdes.String(), VALUES, **options)


def left(store, key, timestamp_ms, value="l"):
    store.add(key.encode(), value, timestamp_ms, is_left=True)


def right(store, key, timestamp_ms, value=0):
    store.add(key.encode(), value, timestamp_ms, is_left=False)


def rows(found):
    return [(row.key, row.value, row.timestamp_ms) for row in found]


def test_order_is_time_then_right_before_left_then_key_bytes_then_arrival():
    store = unmatched()
    for key in ("z", "é", ""):
        left(store, key, 5)
    left(store, "z", 5, "again")
    right(store, "z", 5, 1)
    left(store, "a", 4)
    right(store, "b", 6, 2)
    expected = [
        ("a", "l", 4),
        ("z", 1, 5),
        ("", "l", 5),
        ("z", "l", 5),
        ("z", "again", 5),
        ("é", "l", 5),
        ("b", 2, 6),
    ]
    assert rows(store.all()) == expected
    assert store.count() == 7
    assert rows(store.evict_due(b"any", 100, Waits(0, 0))) == expected
    assert (store.count(), list(store.all())) == (0, [])


def test_records_of_each_side_are_evicted_after_the_wait_of_that_side():
    store = unmatched()
    left(store, "a", 10)
    right(store, "b", 10, 1)
    assert rows(store.evict_due(b"", 15, Waits(right_ms=5, left_ms=20))) == []
    assert rows(store.evict_due(b"", 16, Waits(right_ms=5, left_ms=20))) == [("b", 1, 10)]
    assert rows(store.evict_due(b"", 30, Waits(right_ms=5, left_ms=20))) == []
    assert rows(store.evict_due(b"", 31, Waits(right_ms=5, left_ms=20))) == [("a", "l", 10)]


def test_remove_takes_all_records_of_a_side_key_and_timestamp():
    store = unmatched()
    left(store, "a", 10, "one")
    left(store, "a", 10, "two")
    left(store, "a", 11)
    store.remove(b"a", 10, is_left=False)
    assert store.count() == 3
    store.remove(b"a", 10, is_left=True)
    store.remove(b"a", 10, is_left=True)
    assert (rows(store.all()), store.count()) == ([("a", "l", 11)], 1)


def test_oldest_record_of_each_side_is_returned_without_reading_the_others():
    store = unmatched()
    assert (store.oldest(is_left=True), store.oldest(is_left=False)) == (None, None)
    left(store, "b", 7)
    left(store, "a", 9)
    right(store, "c", 8, 3)
    assert store.oldest(is_left=True) == UnmatchedRecord("b", "l", 7, is_left=True)
    assert store.oldest(is_left=False) == UnmatchedRecord("c", 3, 8, is_left=False)


def test_eviction_does_not_scan_records_that_are_not_due():
    contents = CountingStore()
    store = unmatched(contents)
    for number in range(3_000):
        left(store, f"k{number}", number)
    contents.reset_counts()
    assert len(list(store.evict_due(b"", 3_000, Waits(2_998, 2_998)))) == 2
    assert store.next_ms(b"") == 2_999
    assert contents.ranges < 20


def test_evicted_key_leaves_nothing_in_the_store():
    contents = MemoryStore()
    store = unmatched(contents, each_key=True)
    left(store, "a", 9)
    right(store, "a", 9, 1)
    left(store, "a", 3)
    right(store, "b", 4, 2)
    assert rows(store.evict_key(b"a")) == [("a", "l", 3), ("a", 1, 9), ("a", "l", 9)]
    assert (rows(store.all()), store.next_ms(b"a"), store.next_ms(b"b")) == ([("b", 2, 4)], None, 4)
    assert not [backing for backing, _ in contents.range(None, None) if b"a" in backing]


def test_query_sees_the_records_of_all_tasks_in_order():
    spec, parts = UnmatchedSpec(name="u"), [MemoryStore(), MemoryStore()]
    one, two = (make_store(spec, part, (serdes.String(), VALUES)) for part in parts)
    left(one, "a", 5)
    right(two, "b", 5, 7)
    left(two, "c", 4)
    view = make_view(spec, parts, (serdes.String(), VALUES))
    assert rows(view.all()) == [("c", "l", 4), ("b", 7, 5), ("a", "l", 5)]
    assert view.num_records() == 3


def test_values_of_both_sides_have_their_own_serde():
    assert VALUES.serialize(SideValue("é", is_left=True)) == LEFT + "é".encode()
    assert VALUES.deserialize(RIGHT + bytes(7) + b"\x09") == SideValue(9, is_left=False)
    assert VALUES.deserialize(VALUES.serialize(SideValue("", is_left=True))) == SideValue("", is_left=True)
    assert Sides(None, serdes.Long()).with_default(serdes.String()) == VALUES
    assert repr(VALUES) == "Sides(String(), Long())"


# Random steps against the reference's own description: a walk over all entries in order.

KEYS = st.sampled_from(["", "a", "b", "a\x00"])
TIMES = st.integers(0, 30)
SIDES = st.booleans()
STEPS = st.lists(
    st.tuples(st.just("add"), KEYS, TIMES, SIDES)
    | st.tuples(st.just("remove"), KEYS, TIMES, SIDES)
    | st.tuples(st.just("give up"), KEYS, st.integers(0, 40))
    | st.just(("commit",)),
    max_size=40,
)


class Model:
    """A slow model of the store; with `each_key`, every key has separate entries."""

    def __init__(self, each_key):
        self.each_key, self.entries, self.next_ms = each_key, {}, {}

    def world(self, key):
        return key if self.each_key else None

    def add(self, key, timestamp_ms, is_left):
        self.entries.setdefault((timestamp_ms, is_left, key), []).append("l" if is_left else 0)
        world = self.world(key)
        self.next_ms[world] = min(self.next_ms.get(world, timestamp_ms), timestamp_ms)

    def remove(self, key, timestamp_ms, is_left):
        self.entries.pop((timestamp_ms, is_left, key), None)

    def evict_due(self, key, time_ms, waits):
        world, found, open_sides = self.world(key), [], set()
        self.next_ms.pop(world, None)
        ordered = sorted((entry for entry in self.entries if self.world(entry[2]) == world), key=_in_bytes)
        for timestamp_ms, is_left, owner in ordered:
            self.next_ms[world] = timestamp_ms
            if len(open_sides) == 2:
                break
            if timestamp_ms + waits[is_left] >= time_ms:
                open_sides.add(is_left)
                continue
            values = self.entries.pop((timestamp_ms, is_left, owner))
            found += [(owner, value, timestamp_ms) for value in values]
        return found


def _in_bytes(entry):
    return entry[0], entry[1], entry[2].encode()


@pytest.mark.parametrize("backing", [InMemory, InBatches])
@pytest.mark.parametrize("each_key", [False, True])
@settings(max_examples=examples(200))
@given(steps=STEPS, waits=st.tuples(st.integers(-3, 12), st.integers(-3, 12)).map(lambda both: Waits(*both)))
def test_evicted_records_and_next_equal_those_of_kafka_streams_full_scan(backing, each_key, steps, waits):
    backing, model, time_ms = backing(), Model(each_key), 0
    store = unmatched(backing.contents, each_key=each_key)
    for name, *step in steps:
        if name == "commit":
            backing.commit()
            store = unmatched(backing.contents, each_key=each_key)
        elif name == "give up":
            key, at_ms = step
            time_ms = max(time_ms, at_ms)
            assert rows(store.evict_due(key.encode(), time_ms, waits)) == model.evict_due(key, time_ms, waits)
        else:
            key, at_ms, is_left = step
            time_ms = max(time_ms, at_ms)
            getattr(model, name)(key, at_ms, is_left)
            if name == "add":
                store.add(key.encode(), "l" if is_left else 0, at_ms, is_left=is_left)
            else:
                store.remove(key.encode(), at_ms, is_left=is_left)
        for key in ("", "a", "b", "a\x00"):
            assert store.next_ms(key.encode()) == model.next_ms.get(model.world(key))
    assert store.count() == sum(map(len, model.entries.values()))
    assert rows(store.all()) == [
        (key, value, at_ms)
        for at_ms, is_left, key in sorted(model.entries, key=_in_bytes)
        for value in model.entries[at_ms, is_left, key]
    ]
