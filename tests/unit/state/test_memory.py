from headrace._state.bytes.memory import MemoryStore


def test_keys_put_again_after_a_delete_appear_once():
    store = MemoryStore()
    for _ in range(3):
        store.put(b"a", b"1")
        assert list(store.range(None, None)) == [(b"a", b"1")]
        store.delete(b"a")
        assert list(store.range(None, None)) == []


def test_deleted_keys_do_not_accumulate():
    store = MemoryStore()
    for i in range(2_000):
        store.put(b"%d" % i, b"v")
        assert [key for key, _ in store.range(None, None)] == [b"%d" % i]
        store.delete(b"%d" % i)
    assert store._keys.size < 10
