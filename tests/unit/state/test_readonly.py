import pytest

from headrace import serdes
from headrace._state.bytes.memory import MemoryStore
from headrace._state.stores.key_value import TypedKeyValueStore, TypedTimestampedKeyValueStore
from headrace._state.views.key_value import KeyValueView, TimestampedKeyValueView
from headrace.model.stores.interfaces import ValueAndTimestamp


@pytest.fixture
def plain():
    store = TypedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long())
    store.put_all([("a", 1), ("ab", 2), ("b", 3)])
    return KeyValueView(store)


@pytest.fixture
def timestamped():
    store = TypedTimestampedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long())
    for key, value in [("a", 1), ("ab", 2), ("b", 3)]:
        store.put(key, value, 10 * value)
    return TimestampedKeyValueView(store)


@pytest.mark.parametrize("kind", ["plain", "timestamped"])
def test_both_kinds_of_stores_return_plain_values(kind, request):
    view = request.getfixturevalue(kind)
    assert (view.get("a"), view.get("z")) == (1, None)
    assert list(view.range("ab", "b")) == [("ab", 2), ("b", 3)]
    assert list(view.prefix_scan("a")) == [("a", 1), ("ab", 2)]
    assert list(view.all()) == [("a", 1), ("ab", 2), ("b", 3)]
    assert view.approximate_num_entries() == 3
    assert not hasattr(view, "put")


def test_timestamp_is_returned_on_request(timestamped):
    assert timestamped.get_with_timestamp("b") == ValueAndTimestamp(3, 30)
    assert timestamped.get_with_timestamp("z") is None
