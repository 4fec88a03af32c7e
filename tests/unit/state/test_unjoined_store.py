"""Records without a partner: their order, when they are given up, and what `next` is then; the same in every batch."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import serdes
from headrace._graph.stores import Unjoined as Spec
from headrace._runtime.stores import make_store, make_view
from headrace._state.bytes.memory import MemoryStore
from headrace._state.stores.unjoined import Unjoined, UnjoinedStore, Waits
from headrace.serdes.sides import LEFT, RIGHT, Sides, SideValue
from tests.support.bytestores import Batches, InMemory, Watched
from tests.support.dose import examples

VALUES = Sides(serdes.String(), serdes.Long())


def unjoined(contents=None, **options):
    return UnjoinedStore(MemoryStore() if contents is None else contents, serdes.String(), VALUES, **options)


def left(store, key, timestamp_ms, value="l"):
    store.add(key.encode(), value, timestamp_ms, is_left=True)


def right(store, key, timestamp_ms, value=0):
    store.add(key.encode(), value, timestamp_ms, is_left=False)


def rows(found):
    return [(row.key, row.value, row.timestamp_ms) for row in found]


def test_order_is_time_then_right_before_left_then_key_bytes_then_arrival():
    store = unjoined()
    for key in ("z", "é", ""):
        left(store, key, 5)
    left(store, "z", 5, "again")
    right(store, "z", 5, 1)
    left(store, "a", 4)
    right(store, "b", 6, 2)
    in_order = [("a", "l", 4), ("z", 1, 5), ("", "l", 5), ("z", "l", 5), ("z", "again", 5), ("é", "l", 5), ("b", 2, 6)]
    assert rows(store.all()) == in_order
    assert store.waiting() == 7
    assert rows(store.give_up(b"any", 100, Waits(0, 0))) == in_order
    assert (store.waiting(), list(store.all())) == (0, [])


def test_each_side_has_its_own_wait_and_is_given_up_after_it():
    store = unjoined()
    left(store, "a", 10)
    right(store, "b", 10, 1)
    assert rows(store.give_up(b"", 15, Waits(right_ms=5, left_ms=20))) == []
    assert rows(store.give_up(b"", 16, Waits(right_ms=5, left_ms=20))) == [("b", 1, 10)]
    assert rows(store.give_up(b"", 30, Waits(right_ms=5, left_ms=20))) == []
    assert rows(store.give_up(b"", 31, Waits(right_ms=5, left_ms=20))) == [("a", "l", 10)]


def test_what_found_a_partner_waits_no_longer_with_all_of_its_time():
    store = unjoined()
    left(store, "a", 10, "one")
    left(store, "a", 10, "two")
    left(store, "a", 11)
    store.remove(b"a", 10, is_left=False)
    assert store.waiting() == 3
    store.remove(b"a", 10, is_left=True)
    store.remove(b"a", 10, is_left=True)
    assert (rows(store.all()), store.waiting()) == ([("a", "l", 11)], 1)


def test_oldest_of_each_side_is_found_without_a_look_at_the_others():
    store = unjoined()
    assert (store.oldest(is_left=True), store.oldest(is_left=False)) == (None, None)
    left(store, "b", 7)
    left(store, "a", 9)
    right(store, "c", 8, 3)
    assert store.oldest(is_left=True) == Unjoined("b", "l", 7, is_left=True)
    assert store.oldest(is_left=False) == Unjoined("c", 3, 8, is_left=False)


def test_what_is_given_up_costs_no_walk_over_what_waits_on():
    contents = Watched()
    store = unjoined(contents)
    for number in range(3_000):
        left(store, f"k{number}", number)
    contents.forget()
    assert len(list(store.give_up(b"", 3_000, Waits(2_998, 2_998)))) == 2
    assert store.next_ms(b"") == 2_999
    assert contents.ranges < 20


def test_a_key_that_is_forgotten_leaves_nothing():
    contents = MemoryStore()
    store = unjoined(contents, each_key=True)
    left(store, "a", 9)
    right(store, "a", 9, 1)
    left(store, "a", 3)
    right(store, "b", 4, 2)
    assert rows(store.forget(b"a")) == [("a", "l", 3), ("a", 1, 9), ("a", "l", 9)]
    assert (rows(store.all()), store.next_ms(b"a"), store.next_ms(b"b")) == ([("b", 2, 4)], None, 4)
    assert not [place for place, _ in contents.range(None, None) if b"a" in place]


def test_query_sees_the_records_of_all_tasks_in_order():
    spec, parts = Spec(name="u"), [MemoryStore(), MemoryStore()]
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
    """Every key has its own world if `each_key`, else all are in one."""

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

    def give_up(self, key, time_ms, waits):
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


@pytest.mark.parametrize("place", [InMemory, Batches])
@pytest.mark.parametrize("each_key", [False, True])
@settings(max_examples=examples(200))
@given(steps=STEPS, waits=st.tuples(st.integers(-3, 12), st.integers(-3, 12)).map(lambda both: Waits(*both)))
def test_what_is_given_up_and_next_are_those_of_a_walk_over_all(place, each_key, steps, waits):
    place, model, time_ms = place(), Model(each_key), 0
    store = unjoined(place.contents, each_key=each_key)
    for name, *step in steps:
        if name == "commit":
            place.commit()
            store = unjoined(place.contents, each_key=each_key)
        elif name == "give up":
            key, at_ms = step
            time_ms = max(time_ms, at_ms)
            assert rows(store.give_up(key.encode(), time_ms, waits)) == model.give_up(key, time_ms, waits)
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
    assert store.waiting() == sum(map(len, model.entries.values()))
    assert rows(store.all()) == [
        (key, value, at_ms)
        for at_ms, is_left, key in sorted(model.entries, key=_in_bytes)
        for value in model.entries[at_ms, is_left, key]
    ]
