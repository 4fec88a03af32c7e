import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import lmdb
import pytest

from headrace._state.replica import open_environments as environments
from headrace._state.replica.environment import Environment
from headrace._state.replica.open_environments import acquire, close_idle, discard, release, replace

ROOT = Path(__file__).parents[3]
SIZE = 1 << 22


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    close_idle()
    assert environments._used == {}


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


def run(code: str, *arguments: object) -> str:
    """Runs a program in a process of its own; returns what it prints."""
    imports = "import os, resource, sys\nfrom pathlib import Path\nfrom tests.unit.state.test_environment import *\n"
    command = [sys.executable, "-c", imports + textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def cut(data: Path) -> None:
    data.write_bytes(data.read_bytes()[:5000])


def overwrite(data: Path) -> None:
    data.write_bytes(b"?" * data.stat().st_size)


class TestWithoutUsers:
    def test_environment_that_stays_open_is_used_again(self, tmp_path):
        first = use(tmp_path / "e", k=b"v")
        second = acquire(tmp_path / "e", SIZE)
        assert second is first
        assert get(second, b"k") == b"v"
        release(second)
        assert not is_open(second)

    def test_it_is_opened_again_after_another_process_wrote_it(self, tmp_path):
        first = use(tmp_path / "e", k=b"v")
        subprocess.run([sys.executable, "-c", _GROW, str(tmp_path / "e")], check=True)
        second = acquire(tmp_path / "e", SIZE)
        assert second is not first
        assert not is_open(first)
        assert (get(second, b"k"), get(second, b"grown")) == (b"v", bytes(1 << 18))
        release(second)

    @pytest.mark.parametrize(("damage", "same_time"), [(cut, True), (cut, False), (overwrite, False)])
    def test_it_is_recreated_if_it_was_damaged(self, tmp_path, damage, same_time):
        use(tmp_path / "e", **{str(i): bytes(400) for i in range(300)})
        data = tmp_path / "e" / "data.mdb"
        before_ns = data.stat().st_mtime_ns
        damage(data)
        os.utime(data, ns=(before_ns, before_ns if same_time else before_ns + 1_000_000))
        environment = acquire(tmp_path / "e", SIZE)
        assert get(environment, b"0") is None
        put(environment, b"0", b"new")
        assert get(environment, b"0") == b"new"
        release(environment)

    @pytest.mark.parametrize("name", ["data.mdb", "lock.mdb"])
    def test_it_is_opened_again_if_a_file_was_replaced(self, tmp_path, name):
        first = use(tmp_path / "e", k=b"v")
        shutil.copy2(tmp_path / "e" / name, tmp_path / "copy")
        (tmp_path / "copy").rename(tmp_path / "e" / name)
        second = acquire(tmp_path / "e", SIZE)
        assert second is not first
        assert get(second, b"k") == b"v"
        release(second)

    def test_a_lock_file_that_was_removed_is_created_again(self, tmp_path):
        first = use(tmp_path / "e", k=b"v")
        (tmp_path / "e" / "lock.mdb").unlink()
        second = acquire(tmp_path / "e", SIZE)
        assert second is not first
        assert (tmp_path / "e" / "lock.mdb").exists()
        release(second)

    @pytest.mark.parametrize("remove", [discard, lambda path: path.rename(path.with_name("moved"))])
    def test_it_is_created_anew_if_it_was_removed(self, tmp_path, remove):
        first = use(tmp_path / "e", k=b"old")
        remove(tmp_path / "e")
        second = acquire(tmp_path / "e", SIZE)
        assert get(second, b"k") is None
        assert not is_open(first)
        release(second)

    def test_it_is_closed_when_it_is_replaced(self, tmp_path):
        old = use(tmp_path / "e", k=b"old")
        fresh = Environment(tmp_path / "fresh", SIZE)
        put(fresh, b"k", b"new")
        replace(tmp_path / "e", fresh)
        assert not is_open(old)
        again = acquire(tmp_path / "e", SIZE)
        assert get(again, b"k") == b"new"
        release(fresh)
        release(again)

    def test_one_that_was_replaced_while_in_use_does_not_stay_open(self, tmp_path):
        old = acquire(tmp_path / "e", SIZE)
        fresh = Environment(tmp_path / "fresh", SIZE)
        replace(tmp_path / "e", fresh)
        release(old, stays_open=True)
        assert not is_open(old)
        assert acquire(tmp_path / "e", SIZE) is fresh
        release(fresh)
        release(fresh)

    def test_no_more_than_the_limit_stay_open(self, tmp_path, monkeypatch):
        monkeypatch.setattr(environments, "_MAX_IDLE", 2)
        in_use = acquire(tmp_path / "in use", SIZE)
        for _ in range(2):
            a, b, c = (use(tmp_path / name) for name in "abc")
            assert [is_open(one) for one in (a, b, c, in_use)] == [True, True, False, True]
        release(in_use)

    def test_no_more_than_the_limit_of_bytes_stay_open(self, tmp_path, monkeypatch):
        monkeypatch.setattr(environments, "_MAX_IDLE_BYTES", 100_000)
        small, large = use(tmp_path / "small", k=b"v"), use(tmp_path / "large", k=bytes(200_000))
        assert [is_open(small), is_open(large)] == [True, False]

    @pytest.mark.parametrize("reason", ["its files were removed", "others were used many times"])
    def test_it_is_closed_while_others_are_used(self, tmp_path, monkeypatch, reason):
        if reason == "others were used many times":
            monkeypatch.setattr(environments, "_MAX_IDLE_RELEASES", 1)
        kept = [use(tmp_path / name) for name in "ab"]
        if reason == "its files were removed":
            shutil.rmtree(tmp_path / "a")
            shutil.rmtree(tmp_path / "b")
        for _ in range(3):
            use(tmp_path / "other")
        assert [is_open(one) for one in kept] == [False, False]

    def test_slots_of_killed_readers_are_freed(self, tmp_path):
        first = use(tmp_path / "e", k=b"v")
        code = "environment = acquire(Path(sys.argv[1]), SIZE); txn = environment.begin(); os._exit(0)"
        run(code, tmp_path / "e")
        assert first._lmdb.readers().count("\n") > 1
        assert acquire(tmp_path / "e", SIZE) is first
        assert first._lmdb.readers().count("\n") <= 1
        release(first)

    def test_forked_process_opens_it_anew_and_leaves_that_of_its_parent(self, tmp_path):
        code = """
            path = Path(sys.argv[1])
            use(path, k=b"v")
            child = os.fork()
            if not child:
                os._exit(get(acquire(path, SIZE), b"k") != b"v")
            _, status = os.waitpid(child, 0)
            print(status, get(acquire(path, SIZE), b"k"))
        """
        assert run(code, tmp_path / "e") == "0 b'v'"

    def test_process_with_little_address_space_keeps_none_open(self, tmp_path):
        code = """
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.RLIM_INFINITY))
            kept = [use(Path(sys.argv[1]) / str(number), k=b"v") for number in range(12)]
            print([is_open(one) for one in kept].count(True))
        """
        assert run(code, tmp_path) == "0"

    def test_process_with_few_open_files_keeps_few_open(self, tmp_path):
        code = """
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
            kept = [use(Path(sys.argv[1]) / str(number), k=b"v") for number in range(100)]
            print([is_open(one) for one in kept].count(True))
        """
        assert run(code, tmp_path) == "12"

    def test_those_of_others_are_closed_if_there_is_no_room_to_open_one(self, tmp_path):
        code = """
            directory = Path(sys.argv[1])
            kept = [use(directory / str(number), k=b"v") for number in range(20)]
            resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 1, 200))
            again = acquire(directory / "new", SIZE)
            put(again, b"k", b"w")
            print(get(again, b"k"), [is_open(one) for one in kept].count(True))
        """
        assert run(code, tmp_path) == "b'w' 0"


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
