import pytest

from headrace._state.changes.compaction import CompactionPolicy, advance, read_from
from headrace._state.changes.delta import Columns, decode_columns, sort_changes
from headrace._state.changes.durable import MemoryDurable
from headrace._state.changes.head import Head, Region, RetainedDelta
from headrace._state.changes.keyspace import END, START, full_key
from headrace._state.replica.position import ORIGIN, Position
from headrace._state.replica.replica import Replica

SEVEN = Position(7, b"7" * 8)


@pytest.fixture
def snapshot(tmp_path):
    replica = Replica(tmp_path, map_size=1 << 22)
    entries = {b"%d" % i: bytes(9) for i in range(10)}
    assert replica.apply(sort_changes({"a": entries, "b": entries}), ORIGIN, SEVEN)
    with replica.snapshot() as snapshot:
        yield snapshot
    replica.close()


def columns(*keys):
    return Columns(list(keys), [bytes(9)] * len(keys))


def test_a_step_stops_at_its_size_limit(snapshot):
    assert read_from(snapshot, START, 25) == ({"a": columns(b"0", b"1", b"2")}, full_key("a", b"3"))
    assert read_from(snapshot, full_key("a", b"8"), 30) == (
        {"a": columns(b"8", b"9"), "b": columns(b"0")},
        full_key("b", b"1"),
    )
    assert read_from(snapshot, full_key("a", b"9"), 10) == ({"a": columns(b"9")}, full_key("b", b"0"))
    assert read_from(snapshot, full_key("b", b"8"), 1000) == ({"b": columns(b"8", b"9")}, END)
    assert read_from(snapshot, full_key("c", b""), 1000) == ({}, END)


def head_of(*versions, **fields):
    log = tuple(RetainedDelta(version, bytes([version]) * 8, 100) for version in versions)
    return Head(SEVEN, Position(versions[0] - 1, b"t" * 8), log, **fields)


@pytest.mark.parametrize(
    ("policy", "regions"),
    [
        (CompactionPolicy(min_delta_bytes=700), (Region(END, 0),)),
        (CompactionPolicy(min_delta_bytes=1, max_deltas=7), (Region(END, 0, 1, 700, 20),)),
        (CompactionPolicy(min_delta_bytes=1, max_deltas=0, bytes_per_delta=100), (Region(END, 0, 1, 700, 20),)),
    ],
)
def test_no_compaction_starts_while_the_deltas_are_smaller_than_the_base(snapshot, policy, regions):
    head = head_of(*range(1, 8), regions=regions)
    assert advance(head, MemoryDurable(), snapshot, 100, policy) == head


@pytest.mark.parametrize(
    ("policy", "regions"),
    [
        (CompactionPolicy(min_delta_bytes=699), (Region(END, 0),)),
        (CompactionPolicy(max_deltas=6), (Region(END, 0),)),
        (CompactionPolicy(min_delta_bytes=1), (Region(END, 0, 1, 699, 20),)),
        # 20 entries are live of the 40 that the base has
        (CompactionPolicy(min_delta_bytes=1), (Region(END, 0, 1, 1398, 40),)),
    ],
)
def test_compaction_of_small_state_is_one_step(snapshot, policy, regions):
    durable = MemoryDurable()
    durable.deltas = dict.fromkeys(range(1, 8), b"")
    durable.slices = {1: b""}
    head = advance(head_of(*range(1, 8), regions=regions, next_slice=2), durable, snapshot, 100, policy)
    assert [(region.high, region.version, region.slice_id, region.entries) for region in head.regions] == [
        (END, 7, 2, 20)
    ]
    assert (head.cursor, head.deltas, head.tail.version) == (None, (), 7)
    assert decode_columns(durable.slices[2], "x") == {name: columns(*(b"%d" % i for i in range(10))) for name in "ab"}


def test_compaction_continues_where_it_stopped_and_removes_in_portions(snapshot):
    policy = CompactionPolicy(min_delta_bytes=1, min_step_bytes=1, max_step_bytes=70, max_removals=3)
    durable = MemoryDurable()
    durable.deltas = dict.fromkeys(range(1, 8), b"")
    head, cursors = head_of(*range(1, 8)), []
    for _ in range(3):
        head = advance(head, durable, snapshot, 70, policy)
        cursors.append(head.cursor)
    assert cursors == [full_key("a", b"7"), full_key("b", b"4"), None]
    assert [region.slice_id for region in head.regions] == [1, 2, 3]
    assert sorted(durable.deltas) == [4, 5, 6, 7]
    for _ in range(2):
        head = advance(head, durable, snapshot, 70, policy)
    assert (sorted(durable.deltas), head.deltas, head.tail) == ([], (), RetainedDelta(7, b"\x07" * 8, 100).position)


def test_slices_that_a_step_replaces_are_removed(snapshot):
    durable = MemoryDurable()
    durable.slices = {1: b"", 2: b"", 3: b""}
    regions = (Region(full_key("a", b"5"), 1, 1), Region(full_key("b", b"5"), 1, 2), Region(END, 1, 3))
    head = head_of(6, 7, regions=regions, cursor=START, next_slice=4)
    head = advance(head, durable, snapshot, 1, CompactionPolicy(min_step_bytes=100, max_step_bytes=100, max_removals=9))
    assert [(region.high, region.slice_id) for region in head.regions] == [
        (full_key("b", b"0"), 4),
        (full_key("b", b"5"), 2),
        (END, 3),
    ]
    assert sorted(durable.slices) == [2, 3, 4]


def test_a_step_over_no_entries_writes_no_slice(snapshot):
    durable = MemoryDurable()
    head = head_of(6, 7, cursor=full_key("c", b""))
    head = advance(head, durable, snapshot, 1, CompactionPolicy())
    assert head.regions == (Region(full_key("c", b""), 0), Region(END, 7))
    assert durable.slices == {}


@pytest.mark.parametrize(
    ("delta_size", "base_size", "step"),
    [(0, 0, 10), (8, 0, 10), (60, 0, 60), (300, 0, 300), (0, 256 * 50, 50), (0, 256 * 500, 100)],
)
def test_step_size_depends_on_the_delta_and_the_base(delta_size, base_size, step):
    assert CompactionPolicy(min_step_bytes=10, max_step_bytes=100).step_bytes(delta_size, base_size) == step
