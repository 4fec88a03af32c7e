import os
import subprocess
import sys
from pathlib import Path

import lmdb
import pytest

from headrace._state.replica import environment as environments
from headrace._state.replica.environment import Environment, acquire, discard, release, replace

SIZE = 1 << 22


def put(environment: Environment, key: bytes, value: bytes) -> None:
    environment.write((), lambda txn: txn.put(key, value))


def get(environment: Environment, key: bytes) -> bytes | None:
    with environment.begin() as txn:
        return txn.get(key)


def test_second_open_in_a_process_shares_the_first(tmp_path):
    first, second = acquire(tmp_path / "e", SIZE), acquire(tmp_path / "e", SIZE)
    assert first is second
    release(first)
    put(second, b"k", b"v")
    release(second)
    third = acquire(tmp_path / "e", SIZE)
    assert third is not first
    assert get(third, b"k") == b"v"
    release(third)


def use(path: Path, **puts: bytes) -> Environment:
    """Opens an environment, writes to it and leaves it open without users, as a batch does."""
    environment = acquire(path, SIZE)
    for key, value in puts.items():
        put(environment, key.encode(), value)
    release(environment, stays_open=True)
    return environment


def is_open(environment: Environment) -> bool:
    try:
        environment.begin().abort()
    except lmdb.Error:
        return False
    return True


def test_environment_that_stays_open_is_used_again(tmp_path):
    first = use(tmp_path / "e", k=b"v")
    second = acquire(tmp_path / "e", SIZE)
    assert second is first
    assert get(second, b"k") == b"v"
    release(second)
    assert not is_open(second)


def test_environment_that_stayed_open_is_opened_again_after_another_process_wrote_it(tmp_path):
    first = use(tmp_path / "e", k=b"v")
    subprocess.run([sys.executable, "-c", _GROW, str(tmp_path / "e")], check=True)
    second = acquire(tmp_path / "e", SIZE)
    assert second is not first
    assert not is_open(first)
    assert (get(second, b"k"), get(second, b"grown")) == (b"v", bytes(1 << 18))
    release(second)


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[: len(raw) // 2], lambda raw: raw[:5000], lambda raw: b"?" * len(raw)]
)
def test_environment_damaged_while_it_had_no_users_is_recreated(tmp_path, damage):
    use(tmp_path / "e", **{str(i): bytes(400) for i in range(300)})
    data = tmp_path / "e" / "data.mdb"
    data.write_bytes(damage(data.read_bytes()))
    os.utime(data, (0, 0))
    environment = acquire(tmp_path / "e", SIZE)
    assert get(environment, b"0") is None
    put(environment, b"0", b"new")
    assert get(environment, b"0") == b"new"
    release(environment)


@pytest.mark.parametrize("remove", [discard, lambda path: path.rename(path.with_name("moved"))])
def test_environment_removed_while_it_had_no_users_is_created_anew(tmp_path, remove):
    first = use(tmp_path / "e", k=b"old")
    remove(tmp_path / "e")
    second = acquire(tmp_path / "e", SIZE)
    assert get(second, b"k") is None
    assert not is_open(first)
    release(second)


def test_replaced_environment_without_users_is_closed(tmp_path):
    old = use(tmp_path / "e", k=b"old")
    fresh = Environment(tmp_path / "fresh", SIZE)
    put(fresh, b"k", b"new")
    replace(tmp_path / "e", fresh)
    assert not is_open(old)
    again = acquire(tmp_path / "e", SIZE)
    assert get(again, b"k") == b"new"
    release(fresh)
    release(again)


def test_environment_used_longest_ago_is_closed_first(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "_MAX_IDLE", 2)
    a, b = use(tmp_path / "a"), use(tmp_path / "b")
    assert use(tmp_path / "a") is a
    c = use(tmp_path / "c")
    assert [is_open(environment) for environment in (a, b, c)] == [True, False, True]
    assert acquire(tmp_path / "b", SIZE) is not b


def test_full_map_grows(tmp_path):
    environment = acquire(tmp_path / "e", 1 << 16)
    for i in range(50):
        put(environment, b"%d" % i, bytes(5_000))
    assert all(get(environment, b"%d" % i) == bytes(5_000) for i in range(50))
    release(environment)


def test_map_that_another_process_has_grown_is_adopted(tmp_path):
    environment = acquire(tmp_path / "e", 1 << 16)
    subprocess.run([sys.executable, "-c", _GROW, str(tmp_path / "e")], check=True)
    assert get(environment, b"grown") == bytes(1 << 18)
    release(environment)


_GROW = """
import lmdb, sys
with lmdb.open(sys.argv[1], map_size=1 << 22, max_dbs=4) as env, env.begin(write=True) as txn:
    txn.put(b"grown", bytes(1 << 18))
"""


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[: len(raw) // 2], lambda raw: raw[:5000], lambda raw: b"?" * len(raw)]
)
def test_damaged_environment_is_recreated(tmp_path, damage):
    environment = acquire(tmp_path / "e", SIZE)
    for i in range(300):
        put(environment, b"%d" % i, bytes(400))
    release(environment)
    data = tmp_path / "e" / "data.mdb"
    data.write_bytes(damage(data.read_bytes()))
    environment = acquire(tmp_path / "e", SIZE)
    assert get(environment, b"0") is None
    put(environment, b"0", b"new")
    assert get(environment, b"0") == b"new"
    release(environment)


def test_file_length_covers_pages_that_a_transaction_allocated_and_freed(tmp_path):
    environment = acquire(tmp_path / "e", SIZE)
    for round_ in range(200):

        def churn(txn, number=round_):
            txn.put(b"big", bytes(3_000 * (number % 7 + 1)))
            txn.delete(b"big") if number % 2 else txn.put(b"big", b"small")

        environment.write((), churn)
        assert not environment._missing_bytes()
    release(environment)


def test_replaced_environment_stays_usable_for_current_users(tmp_path):
    old = acquire(tmp_path / "e", SIZE)
    put(old, b"k", b"old")
    fresh = Environment(tmp_path / "fresh", SIZE)
    put(fresh, b"k", b"new")
    replace(tmp_path / "e", fresh)
    again = acquire(tmp_path / "e", SIZE)
    assert again is fresh
    assert get(old, b"k") == b"old"
    assert get(again, b"k") == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["e"]
    for environment in (old, fresh, again):
        release(environment)


def test_environment_that_cannot_replace_another_stays_usable_without_files(tmp_path, monkeypatch):
    fresh = Environment(tmp_path / "fresh", SIZE)
    put(fresh, b"k", b"v")
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "of another process").touch()
    real = environments.discard
    monkeypatch.setattr(environments, "discard", lambda path: real(path) if path != tmp_path / "e" else None)
    replace(tmp_path / "e", fresh)
    assert get(fresh, b"k") == b"v"
    assert [entry.name for entry in tmp_path.iterdir()] == ["e"]
    release(fresh)


def test_discarding_a_missing_environment_is_no_error(tmp_path):
    discard(tmp_path / "e")
    assert list(tmp_path.iterdir()) == []


def test_handle_of_another_process_is_not_closed(tmp_path, monkeypatch):
    environment = acquire(tmp_path / "e", SIZE)
    monkeypatch.setattr(environment, "_process", -1)
    environment.close()
    assert get(environment, b"k") is None
    monkeypatch.undo()
    release(environment)
    with pytest.raises(lmdb.Error):
        environment.begin()
