import os
import signal
import subprocess
import sys

import pytest

from headrace._state.changes.delta import sort_changes
from headrace._state.replica.open_environments import close_idle
from headrace._state.replica.position import ORIGIN
from headrace._state.replica.replica import Replica
from headrace.errors import StateError

SIZE = 1 << 24
ONE, TWO = ORIGIN.next(), ORIGIN.next().next()
LONG = b"L" * 511


@pytest.fixture(params=[True, False], ids=["stays open", "is closed"])
def replica(tmp_path, request):
    replica = Replica(tmp_path / "replica", map_size=SIZE, stays_open=request.param)
    yield replica
    replica.close()
    close_idle()


def contents(replica, store="s"):
    with replica.snapshot() as snapshot:
        return snapshot.position, list(snapshot.reader(store).range(None, None))


def delta(**entries):
    return sort_changes({"s": {key.encode(): value for key, value in entries.items()}})


def test_new_replica_is_empty_at_the_origin(replica):
    with replica.snapshot() as snapshot:
        assert snapshot.position == ORIGIN
        assert snapshot.stores == []
        reader = snapshot.reader("never written")
        assert (reader.get(b"k"), list(reader.range(None, None)), reader.approximate_len()) == (None, [], 0)


def test_delta_moves_the_replica_to_the_next_position(replica):
    assert replica.apply(delta(a=b"1", b=b"2"), ORIGIN, ONE)
    assert replica.apply(delta(a=None, c=b"3"), ONE, TWO)
    assert contents(replica) == (TWO, [(b"b", b"2"), (b"c", b"3")])


def test_delta_from_another_position_is_refused(replica):
    assert replica.apply(delta(a=b"1"), ORIGIN, ONE)
    assert not replica.apply(delta(a=b"2"), ORIGIN, TWO)
    assert not replica.apply(delta(a=b"2"), TWO, TWO.next())
    assert contents(replica) == (ONE, [(b"a", b"1")])


def test_stores_are_separate_and_accept_keys_that_lmdb_refuses(replica):
    odd = {b"": b"e", LONG[:510]: b"1", LONG: b"2", LONG + b"b": b"4", LONG + b"a": b"3", b"\xff" * 2000: b"5"}
    assert replica.apply(sort_changes({"s": odd, "t": {b"": b"other"}}), ORIGIN, ONE)
    assert contents(replica) == (ONE, sorted(odd.items()))
    assert contents(replica, "t") == (ONE, [(b"", b"other")])
    with replica.snapshot() as snapshot:
        reader = snapshot.reader("s")
        assert reader.get_many([*odd, LONG + b"c", b"\xfe" * 600]) == [*odd.values(), None, None]
        assert list(reader.range(LONG, LONG + b"b")) == [(LONG, b"2"), (LONG + b"a", b"3")]
        assert [key for key, _ in reader.range(LONG + b"aa", None)] == [LONG + b"b", b"\xff" * 2000]
        assert list(reader.range(None, b"")) == []
    assert replica.apply(sort_changes({"s": dict.fromkeys([b"", LONG, LONG + b"a", LONG + b"b"])}), ONE, TWO)
    assert contents(replica) == (TWO, [(LONG[:510], b"1"), (b"\xff" * 2000, b"5")])


def test_replica_that_stays_open_is_not_opened_again(tmp_path):
    for stays_open in (True, False):
        replica = Replica(tmp_path / str(stays_open), map_size=SIZE, stays_open=stays_open)
        assert replica.apply(delta(a=b"1"), ORIGIN, ONE)
        replica.close()
        assert close_idle() == stays_open


def test_directory_may_have_two_names(replica, tmp_path):
    assert replica.apply(delta(a=b"1"), ORIGIN, ONE)
    (tmp_path / "link").symlink_to(tmp_path / "replica")
    other = Replica(tmp_path / "link", map_size=SIZE)
    assert contents(other) == contents(replica) == (ONE, [(b"a", b"1")])
    other.close()


def test_snapshot_does_not_see_later_deltas(replica):
    replica.apply(delta(a=b"1"), ORIGIN, ONE)
    with replica.snapshot() as snapshot:
        reader = snapshot.reader("s")
        entries = reader.range(None, None)
        replica.apply(delta(a=b"2", b=b"3"), ONE, TWO)
        assert (snapshot.position, reader.get(b"a"), list(entries)) == (ONE, b"1", [(b"a", b"1")])
    assert contents(replica) == (TWO, [(b"a", b"2"), (b"b", b"3")])


def test_reset_replaces_everything(replica):
    replica.apply(delta(a=b"1"), ORIGIN, ONE)

    def fill(target):
        target.append(delta(b=b"2", c=b"3"))
        target.append(delta(d=b"4"))
        target.apply(delta(b=None, d=b"5"))

    replica.reset(TWO, fill)
    assert contents(replica) == (TWO, [(b"c", b"3"), (b"d", b"5")])


def test_reset_that_fails_changes_nothing(replica):
    replica.apply(delta(a=b"1"), ORIGIN, ONE)

    def fill(target):
        target.append(delta(b=b"2"))
        raise StateError("damaged")

    with pytest.raises(StateError, match="damaged"):
        replica.reset(TWO, fill)
    assert contents(replica) == (ONE, [(b"a", b"1")])
    assert len(list(replica.directory.iterdir())) == 1


def test_reset_removes_leftovers_of_killed_processes(replica):
    for name in ("rebuild-99999999-1", "doomed-2", "live-of-an-earlier-boot"):
        (replica.directory / name).mkdir(parents=True)
    of_the_living = replica.directory / f"rebuild-{os.getpid()}-1"
    of_the_living.mkdir()
    replica.reset(ONE, lambda target: target.apply(delta(a=b"1")))
    assert {entry.name.split("-")[0] for entry in replica.directory.iterdir()} == {"live", "rebuild"}
    assert of_the_living.exists()


@pytest.mark.parametrize("kept", [0, 1, 4095, 8192, 9000])
def test_replica_that_is_cut_short_reads_as_empty(replica, kept):
    replica.apply(sort_changes({"s": {b"%d" % i: bytes(100) for i in range(1000)}}), ORIGIN, ONE)
    replica.close()
    (data,) = replica.directory.glob("*/data.mdb")
    data.write_bytes(data.read_bytes()[:kept])
    assert contents(replica) == (ORIGIN, [])


def test_replica_deleted_while_open_stays_usable_until_closed(replica):
    replica.apply(delta(a=b"1"), ORIGIN, ONE)
    subprocess.run(["rm", "-r", str(replica.directory)], check=True)
    assert replica.apply(delta(b=b"2"), ONE, TWO)
    assert contents(replica) == (TWO, [(b"a", b"1"), (b"b", b"2")])
    replica.close()
    assert contents(replica) == (ORIGIN, [])


def test_two_handles_in_one_process_see_the_same_content(replica):
    other = Replica(replica.directory, map_size=SIZE)
    with other.snapshot() as before:
        assert replica.apply(delta(a=b"1"), ORIGIN, ONE)
        assert before.position == ORIGIN
    assert contents(other) == (ONE, [(b"a", b"1")])
    other.wipe()
    assert contents(replica) == (ONE, [(b"a", b"1")])
    other.close()


_OTHER_PROCESS = """
import os, signal, sys
from pathlib import Path
from headrace._state.changes.delta import sort_changes
from headrace._state.replica.open_environments import close_idle
from headrace._state.replica.position import Position
from headrace._state.replica.replica import Replica, _write
replica = Replica(Path(sys.argv[1]), map_size=1 << 24)
before, after = (Position.from_bytes(bytes.fromhex(raw)) for raw in sys.argv[3:])
changes = sort_changes({"s": {b"other": b"process"}, "new": {b"k": b"v"}})
if sys.argv[2] == "apply":
    assert replica.apply(changes, before, after)
    replica.close()
else:
    environment = replica._open_environment()
    def die(txn):
        _write(txn, environment, changes)
        os.kill(os.getpid(), signal.SIGKILL)
    environment.write(changes, die)
"""


def other_process(replica, action, before, after):
    command = [sys.executable, "-c", _OTHER_PROCESS, str(replica.directory), action]
    return subprocess.run([*command, before.to_bytes().hex(), after.to_bytes().hex()], check=False).returncode


def test_another_process_may_apply_a_delta_while_the_replica_is_open(replica):
    assert replica.apply(delta(a=b"1"), ORIGIN, ONE)
    with replica.snapshot() as snapshot:
        assert other_process(replica, "apply", ONE, TWO) == 0
        assert list(snapshot.reader("s").range(None, None)) == [(b"a", b"1")]
    assert not replica.apply(delta(a=b"2"), ONE, TWO)
    assert contents(replica) == (TWO, [(b"a", b"1"), (b"other", b"process")])
    assert contents(replica, "new") == (TWO, [(b"k", b"v")])


def test_process_killed_during_a_write_changes_nothing(replica):
    assert replica.apply(delta(a=b"1"), ORIGIN, ONE)
    assert other_process(replica, "die", ONE, TWO) == -signal.SIGKILL
    assert contents(replica) == (ONE, [(b"a", b"1")])
    assert replica.apply(delta(b=b"2"), ONE, TWO)
    assert contents(replica) == (TWO, [(b"a", b"1"), (b"b", b"2")])


_FORK = """
import os, sys
from pathlib import Path
from headrace._state.changes.delta import sort_changes
from headrace._state.replica.open_environments import close_idle
from headrace._state.replica.position import ORIGIN
from headrace._state.replica.replica import Replica
def look():
    with replica.snapshot() as snapshot:
        return snapshot.position, snapshot.reader("s").get(b"k")
one = ORIGIN.next()
replica = Replica(Path(sys.argv[1]), map_size=1 << 24)
assert replica.apply(sort_changes({"s": {b"k": b"v"}}), ORIGIN, one)
child = os.fork()
if not child:
    replica = Replica(Path(sys.argv[1]), map_size=1 << 24)
    os._exit(0 if look() in ((ORIGIN, None), (one, b"v")) else 1)
assert os.waitpid(child, 0)[1] == 0
assert look() == (one, b"v")
"""


def test_forked_process_may_open_the_replica_again(tmp_path):
    subprocess.run([sys.executable, "-c", _FORK, str(tmp_path)], check=True)


def test_error_names_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    replica = Replica(tmp_path / "file" / "replica", map_size=SIZE)
    with pytest.raises(StateError, match=r"Cannot write the local copy .*file/replica'.* set local_dir"):
        replica.snapshot()
    with pytest.raises(StateError, match=r"Cannot write the local copy .*file/replica'.* set local_dir"):
        replica.reset(ONE, lambda target: None)


def test_small_map_grows_while_filling(tmp_path):
    replica = Replica(tmp_path, map_size=1 << 16)
    replica.reset(ONE, lambda target: [target.apply(delta(**{f"k{i}": bytes(9_000)})) for i in range(40)])
    assert contents(replica) == (ONE, sorted((b"k%d" % i, bytes(9_000)) for i in range(40)))
    replica.close()
