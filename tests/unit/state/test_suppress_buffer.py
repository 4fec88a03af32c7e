"""The buffer of a suppressed table: its order, sizes and cost, and that restarts change nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Change, Record, Window, Windowed, serdes
from headrace._runtime.stores import make_store, make_view
from headrace._state.bytes.memory import MemoryStore
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.stores.suppress_buffer import BufferedRow, SuppressBuffer, Usage
from headrace.dsl.stores import WaitingRow
from headrace.errors import StateError
from headrace.model.stores.specs import SuppressBufferSpec
from tests.support.bytestores import CountingStore, InBatches, InMemory

WINDOWED = serdes.WindowedKey(serdes.String(), 10)


def text_buffer(contents=None, **options):
    return SuppressBuffer(
        MemoryStore() if contents is None else contents, serdes.String(), serdes.String(), name="held", **options
    )


def put(buffer, key, value, time_ms, *, old=None, timestamp_ms=None, headers=(), topic="in"):
    at = time_ms if timestamp_ms is None else timestamp_ms
    buffer.put(Record(key, Change(value, old), at, headers), time_ms, topic=topic)


def at(key, start_ms):
    return Windowed(key, Window(start_ms, start_ms + 10))


def keys(rows):
    return [row.key for row in rows]


def test_rows_are_evicted_by_buffer_time_then_key_bytes_up_to_a_time_inclusive():
    buffer = text_buffer()
    for key, time_ms in [("b", 5), ("é", 5), ("a", 5), ("z", 4), ("y", 6), ("x", 7)]:
        put(buffer, key, "v", time_ms)
    assert keys(buffer.evict_due("any", 3)) == []
    assert keys(buffer.evict_due("any", 6)) == ["z", "a", "b", "é", "y"]
    assert keys(buffer.all()) == ["x"]


def test_an_update_keeps_buffer_time_and_prior_and_replaces_the_rest():
    buffer = text_buffer()
    put(buffer, "k", "b", 5, old="a", headers=(("h", b"1"),))
    put(buffer, "k", "c", 9, old="b", timestamp_ms=8, headers=(("h", None),))
    assert buffer.get("k") == BufferedRow("k", "c", 8, 5, "a", (("h", None),))
    assert list(buffer.evict_due("k", 5)) == [BufferedRow("k", "c", 8, 5, "a", (("h", None),))]
    assert buffer.get("k") is None
    put(buffer, "k", None, 9, old="c")
    assert list(buffer.all()) == [BufferedRow("k", None, 9, 9, "c", ())]


def test_a_row_stays_buffered_until_it_has_been_processed():
    buffer = text_buffer()
    put(buffer, "k", "b", 5, old="a")
    for row in buffer.evict_due("k", 5):
        assert buffer.get("k") == row
    assert (buffer.get("k"), buffer.usage(), buffer.oldest()) == (None, Usage(0, 0), None)


def test_a_key_of_none_is_refused():
    with pytest.raises(StateError, match="'held'"):
        put(text_buffer(), None, "v", 1)


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ([("1", None)], 32),
        ([("22", None)], 33),
        ([(None, None)], 31),
        ([("22", "1")], 34),
        ([(None, "333")], 34),
        ([("22", "1"), ("22", "22")], 36),
        ([("22", "1"), ("333", "1")], 35),
        ([("22", None), ("333", "22"), (None, "333")], 34),
    ],
)
def test_row_size_counts_the_prior_value_and_the_replaced_one_if_they_differ(changes, size):
    buffer = text_buffer()
    for new, old in changes:
        put(buffer, "b", new, 5, old=old)
    assert buffer.usage() == Usage(1, size)


def test_row_size_counts_characters_of_topics_and_bytes_of_headers():
    buffer = text_buffer()
    put(buffer, "b", "1", 5, topic="input", headers=(("h", b"123"), ("é", None), ("𝄞", b"")))
    assert buffer.usage() == Usage(1, 32 + 3 + 4 + 1 + 2)


def test_eviction_updates_the_counts_of_rows_and_bytes():
    buffer = text_buffer()
    for key, value, time_ms in [("a", "1", 1), ("b", "22", 2), ("c", "333", 3)]:
        put(buffer, key, value, time_ms)
    assert buffer.usage() == Usage(3, 32 + 33 + 34)
    assert keys(buffer.evict_while(lambda: buffer.usage().bytes > 60)) == ["a", "b"]
    assert buffer.usage() == Usage(1, 34)
    assert keys(buffer.evict_while(lambda: True)) == ["c"]
    assert buffer.usage() == Usage(0, 0)


def test_with_a_time_per_key_only_windows_of_that_key_are_due_but_capacity_evicts_the_oldest_of_all():
    buffer = SuppressBuffer(MemoryStore(), WINDOWED, serdes.Long(), each_key=True)
    for key, start_ms in [("b", 20), ("a", 0), ("a", 10), ("b", 0), ("a\0", 0), ("a", 20)]:
        put(buffer, at(key, start_ms), 1, start_ms + 10)
    assert keys(buffer.evict_due(at("a", 90), 20)) == [at("a", 0), at("a", 10)]
    assert keys(buffer.evict_due(at("a", 90), 29)) == []
    assert keys(buffer.evict_while(lambda: buffer.usage().records > 2)) == [at("a\0", 0), at("b", 0)]
    assert keys(buffer.all()) == [at("a", 20), at("b", 20)]
    assert keys(buffer.evict_due(at("b", 90), 99)) == [at("b", 20)]
    assert buffer.oldest() == (at("a", 20), 30)


def test_empty_buffer_stores_only_the_counts():
    for buffer in (text_buffer(), text_buffer(each_key=True)):
        for key in "abc":
            put(buffer, key, "v", 1)
        for key in "abc":
            list(buffer.evict_due(key, 1))
        assert len(list(buffer.contents.range(None, None))) == 1


def test_no_range_is_read_while_nothing_is_due():
    contents = CountingStore()
    buffer = text_buffer(contents)
    for number in range(100):
        put(buffer, f"k{number}", "v", 1000 - number)
        assert list(buffer.evict_due("k", number)) == []
    assert contents.ranges <= 1


@pytest.mark.parametrize("each_key", [False, True])
def test_rows_evicted_in_a_batch_are_not_scanned_again(each_key):
    """Within a batch, committed entries stay in the snapshot under the deletions of the batch."""
    walked = 0

    class Walked(MemoryStore):
        def range(self, start, end):
            nonlocal walked
            for entry in super().range(start, end):
                walked += 1
                yield entry

    batches = InBatches(Walked())

    def opened():
        return SuppressBuffer(batches.contents, WINDOWED, serdes.Long(), each_key=each_key)

    buffer = opened()
    for number in range(200):
        put(buffer, at("k", number), 1, number)
    batches.commit()
    buffer, walked = opened(), 0
    left = [row.key for number in range(200) for row in buffer.evict_due(at("k", 0), number)]
    assert left == [at("k", number) for number in range(200)]
    assert walked <= 1000


def test_a_view_lists_the_rows_of_all_tasks_and_the_oldest():
    texts = (serdes.String(), serdes.String())
    contents = [MemoryStore(), MemoryStore(), MemoryStore()]
    one, two, _ = (make_store(SuppressBufferSpec(name="held"), part, texts) for part in contents)
    view = make_view(SuppressBufferSpec(name="held"), contents, texts)
    assert (list(view.all()), view.num_rows(), view.num_bytes(), view.oldest()) == ([], 0, 0, None)
    for buffer, key, value, time_ms in [
        (one, "a", "1", 5),
        (two, "b", None, 4),
        (one, "c", "3", 4),
        (two, "b", "2", 9),
    ]:
        put(buffer, key, value, time_ms)
    assert list(view.all()) == [WaitingRow("b", "2", 9, 4), WaitingRow("c", "3", 4, 4), WaitingRow("a", "1", 5, 5)]
    assert (view.num_rows(), view.num_bytes(), view.oldest()) == (3, 96, ("b", 4))
    assert (view.get("c"), view.get("z")) == (WaitingRow("c", "3", 4, 4), None)
    assert keys(two.evict_due("b", 4)) == ["b"]
    assert (view.num_rows(), view.oldest()) == (2, ("c", 4))
    assert not hasattr(view, "put")


KEYS = st.builds(at, st.sampled_from(["", "a", "a\0", "b", "\0"]), st.sampled_from([0, 1, 256]))
TIMES = st.integers(0, 12)
VALUES = st.none() | st.sampled_from(["", "x", "long"])
STEPS = st.lists(
    st.tuples(st.just("put"), KEYS, VALUES, VALUES, TIMES)
    | st.tuples(st.just("due"), KEYS, st.integers(-2, 12))
    | st.tuples(st.just("limit"), st.integers(0, 4))
    | st.tuples(st.just("restart"))
    | st.tuples(st.just("commit")),
    max_size=40,
)


class Model:
    """A slow model of the buffer, which sorts all rows for each read."""

    def __init__(self, each_key):
        self.each_key = each_key
        self.rows = {}

    def put(self, key, new, old, time_ms):
        present = self.rows.get(key)
        time_ms, prior = (time_ms, old) if present is None else (present[1], present[2])
        size = sum(len(text or "") for text in (new, prior, None if old == prior else old))
        self.rows[key] = new, time_ms, prior, 8 + len(WINDOWED.serialize(key)) + size + 22

    def leave(self, wanted):
        ordered = sorted(self.rows, key=lambda key: (self.rows[key][1], WINDOWED.serialize(key)))
        return [(key, *self.rows.pop(key)[:3]) for key in ordered if wanted(key)]

    def due(self, key, last_ms):
        return self.leave(
            lambda waiting: self.rows[waiting][1] <= last_ms and (not self.each_key or waiting.key == key.key)
        )

    def limit(self, records):
        return self.leave(lambda _: len(self.rows) > records)


@pytest.mark.parametrize("world", [InMemory, InBatches])
@given(steps=STEPS, each_key=st.booleans())
def test_buffer_equals_a_model_that_sorts_all_rows(world, steps, each_key):
    world, model = world(), Model(each_key)

    def opened():
        return SuppressBuffer(world.contents, WINDOWED, serdes.String(), each_key=each_key)

    def shown(rows):
        return [(row.key, row.value, row.buffer_time_ms, row.prior) for row in rows]

    buffer = opened()
    for step, *arguments in steps:
        match step:
            case "put":
                key, new, old, time_ms = arguments
                put(buffer, key, new, time_ms, old=old)
                model.put(*arguments)
            case "due":
                assert shown(buffer.evict_due(*arguments)) == model.due(*arguments)
            case "limit":
                (records,) = arguments
                left = buffer.evict_while(lambda buffer=buffer, most=records: buffer.usage().records > most)
                assert shown(left) == model.limit(records)
            case "commit":
                world.commit()
                buffer = opened()
            case "restart":
                buffer = opened()
        assert buffer.usage() == Usage(len(model.rows), sum(row[3] for row in model.rows.values()))
        assert buffer.oldest() == min(
            ((key, row[1]) for key, row in model.rows.items()),
            key=lambda oldest: (oldest[1], WINDOWED.serialize(oldest[0])),
            default=None,
        )


def test_a_queue_accepts_entries_before_its_first():
    queue = TimeQueue(MemoryStore(), b"q")
    queue.add(5, b"a")
    assert queue.first() == (5, b"a")
    queue.add(3, b"b")
    assert queue.first() == (3, b"b")
    queue.remove(3, b"b")
    assert queue.first() == (5, b"a")
    assert list(queue.until(4)) == []
