import random

from headrace._state.bytes.sortedkeys import SortedKeys


def walk(keys: SortedKeys) -> list[bytes]:
    found, low = [], b""
    while (key := keys.at_or_after(low)) is not None:
        found.append(key)
        low = key + b"\x00"
    return found


def test_keys_added_one_by_one_and_in_bulk_are_sorted_and_distinct():
    rng = random.Random(5)
    everything = [b"%d" % rng.randrange(20_000) for _ in range(9_000)]
    keys = SortedKeys(everything[:3_000])
    for i in range(3_000, 6_000):
        keys.add([everything[i]])
    keys.add(everything[6_000:])
    assert walk(keys) == sorted(set(everything))
    assert keys.size == len(set(everything))


def test_keys_after_the_last_one_extend_the_last_block():
    keys = SortedKeys([b"a"])
    for i in range(3_000):
        keys.add([b"b%05d" % i])
    assert walk(keys) == [b"a", *(b"b%05d" % i for i in range(3_000))]


def test_no_key_is_at_or_after_the_end():
    assert SortedKeys().at_or_after(b"") is None
    assert SortedKeys([b"a"]).at_or_after(b"b") is None
