"""Stores of a user's own class, over the bytes of a task."""

import pytest

from headrace import ByteStore, StateError, Stores, TopologyError, serdes
from headrace._runtime.stores import make_store, make_view
from headrace._state.bytes.memory import MemoryStore

SERDES = (serdes.String(), serdes.Long())


class Words:
    """A set of words."""

    def __init__(self, entries: ByteStore):
        self.entries = entries

    def add(self, word):
        self.entries.put(word.encode(), b"")

    def last(self):
        return next((key.decode() for key, _ in self.entries.reverse_range(None, None)), None)


def test_a_task_gets_what_the_factory_returns():
    contents = MemoryStore()
    store = make_store(Stores.custom("words", Words), contents, SERDES)
    store.add("be")
    store.add("to")
    assert isinstance(store, Words)
    assert (store.last(), list(contents.range(None, None))) == ("to", [(b"be", b""), (b"to", b"")])


def test_a_query_gets_the_stores_of_all_tasks_and_cannot_write():
    spec = Stores.custom("words", Words)
    parts = [MemoryStore(), MemoryStore()]
    make_store(spec, parts[0], SERDES).add("be")
    stores = make_view(spec, parts, SERDES)
    assert [store.last() for store in stores] == ["be", None]
    with pytest.raises(StateError, match="Store 'words' was opened by a query, which can only read it"):
        stores[0].add("or")


def test_a_query_gets_what_the_view_makes_of_them():
    spec = Stores.custom("words", Words, view=lambda stores: [store.last() for store in stores])
    parts = [MemoryStore(), MemoryStore()]
    make_store(spec, parts[1], SERDES).add("be")
    assert make_view(spec, parts, SERDES) == [None, "be"]


def test_all_operations_of_the_bytes_work():
    entries = make_store(Stores.custom("plain", lambda entries: entries), MemoryStore(), SERDES)
    entries.put_many([(b"a", b"1"), (b"ab", b"2"), (b"b", b"3"), (b"b", None)])
    assert entries.get_many([b"a", b"b"]) == [b"1", None]
    assert list(entries.prefix(b"a")) == list(entries.range()) == [(b"a", b"1"), (b"ab", b"2")]
    assert list(entries.reverse_range(b"a", b"ab")) == [(b"a", b"1")]
    entries.delete(b"a")
    assert (entries.get(b"a"), entries.approximate_len()) == (None, 1)


@pytest.mark.parametrize(
    ("operation", "arguments", "what"),
    [
        ("get", ("a",), "key"),
        ("get_many", ([b"a", 1],), "key"),
        ("put", (None, b""), "key"),
        ("put", (b"a", None), "value"),
        ("delete", ("a",), "key"),
        ("range", ("a", None), "start"),
        ("reverse_range", (None, 5), "end"),
        ("prefix", ("a",), "prefix"),
    ],
)
def test_what_is_not_bytes_is_refused(operation, arguments, what):
    entries = make_store(Stores.custom("plain", lambda entries: entries), MemoryStore(), SERDES)
    with pytest.raises(StateError, match=rf"Store 'plain': the {what} is .*; keys and values of a ByteStore are bytes"):
        getattr(entries, operation)(*arguments)


@pytest.mark.parametrize(("arguments", "options"), [((None,), {}), (("Words",), {}), ((Words,), {"view": 3})])
def test_a_factory_or_view_that_cannot_be_called_is_refused(arguments, options):
    with pytest.raises(TopologyError, match=r"Store 'words': (factory|view) is .*; it must be a class or a function\."):
        Stores.custom("words", *arguments, **options)
