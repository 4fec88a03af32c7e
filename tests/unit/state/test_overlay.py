from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore


def test_changes_hold_the_last_write_per_key_and_the_base_is_not_written():
    base = MemoryStore()
    base.put_many([(b"a", b"1"), (b"b", b"2")])
    store = OverlayStore(base)
    store.put(b"a", b"x")
    store.put(b"a", b"y")
    store.delete(b"b")
    store.put_many([(b"c", b"3"), (b"d", None)])
    assert store.changes == {b"a": b"y", b"b": None, b"c": b"3", b"d": None}
    assert list(base.range(None, None)) == [(b"a", b"1"), (b"b", b"2")]


def test_an_iterator_skips_entries_deleted_ahead_of_it():
    base = MemoryStore()
    base.put_many([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])
    store = OverlayStore(base)
    seen = []
    for key, _ in store.range(None, None):
        seen.append(key)
        store.delete(b"b")
        store.put(b"bb", b"new")
        store.put(b"0", b"behind")
    assert seen == [b"a", b"bb", b"c"]
