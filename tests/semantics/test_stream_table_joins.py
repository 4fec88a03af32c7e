"""Joins of a stream with a table: only the stream triggers, and a result keeps the stream record's timestamp."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Pending, PendingTask, Record, Stores, StreamsBuilder, TopologyError, serdes
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import DriverRuntime
from tests.support.steps import each_step, slashed

MS = timedelta(milliseconds=1)


def versions(history_ms=100):
    return Stores.versioned_key_value("versions", history=history_ms * MS)


def joined(kind, derive=lambda table: table, *, store=None, **options):
    builder = StreamsBuilder()
    table = derive(builder.table("table", store=store, name="rows"))
    getattr(builder.stream("in"), kind)(table, slashed, name="joined", **options).to("out")
    return builder.build()


STEPS = [
    ("in", "k", "s1", 10),
    ("table", "k", "t1", 20),
    ("in", "k", "s2", 5),
    ("table", "k", None, 21),
    ("in", "k", "s3", 30),
]


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("join", [[], [], ["k=s2/t1@5"], [], []]),
        ("left_join", [["k=s1/None@10"], [], ["k=s2/t1@5"], [], ["k=s3/None@30"]]),
    ],
)
def test_each_record_is_joined_with_the_current_row_and_keeps_its_timestamp(kind, written, restarts):
    assert each_step(joined(kind), STEPS, restarts=restarts) == written


def test_joins_on_spark_have_the_same_results_as_in_the_driver(runtime):
    steps = [
        ("table", "k", "t1", 1),
        ("in", "k", "s1", 2, (("h", b"1"),)),
        ("table", "k", "t2", 3),
        ("in", "j", "s2", 4),
    ]
    outputs, metrics = runtime.run(joined("left_join"), [*steps, ("in", "k", "s3", 5), ("in", "k", None, 6)])
    assert outputs["out"] == [
        Record("k", "s1/t1", 2, (("h", b"1"),)),
        Record("j", "s2/None", 4),
        Record("k", "s3/t2", 5),
    ]
    assert metrics["joined"] == {"dropped": {"null value": 1}}


NULLS = [
    ("table", None, "t", 1),
    ("in", None, "s1", 2),
    ("in", "k", None, 3),
    ("in", None, None, 4),
    ("in", "k", "s2", 5),
]


@pytest.mark.parametrize("options", [{}, {"store": versions(), "grace": 0 * MS}], ids=["", "grace"])
@pytest.mark.parametrize(
    ("kind", "written", "dropped"),
    [
        ("join", [[], [], [], [], []], {"null key": 1, "null value": 2}),
        ("left_join", [[], ["None=s1/None@2"], [], [], ["k=s2/None@5"]], {"null value": 2}),
    ],
)
def test_records_without_a_key_or_a_value_are_dropped_and_counted(kind, written, dropped, options):
    topology = joined(kind, **options)
    assert each_step(topology, NULLS) == written
    with TopologyTestDriver(topology) as driver:
        for topic, *record in NULLS:
            driver.input_topic(topic).pipe(*record)
        metrics = driver.metrics()
    assert metrics["joined"]["dropped"] == dropped
    assert metrics["rows"]["dropped"] == {"null key": 1}


@pytest.mark.parametrize(
    ("kind", "written", "dropped"),
    [("join", [], {"KSTREAM-FILTER-0000000006": {"null key": 1}}), ("left_join", [Record(None, "x/None", 1)], {})],
)
def test_records_without_a_key_pass_the_repartition_before_a_left_join(runtime, kind, written, dropped):
    builder = StreamsBuilder()
    stream = builder.stream("in").select_key(lambda key, value: None)
    getattr(stream, kind)(builder.table("table"), slashed).to("out")
    outputs, metrics = runtime.run(builder.build(), [("in", "k", "x", 1)])
    assert outputs["out"] == written
    assert {name: found["dropped"] for name, found in metrics.items() if "dropped" in found} == dropped


def test_records_without_a_key_pass_every_repartition_before_a_left_join():
    builder = StreamsBuilder()
    stream = builder.stream("in").select_key(lambda key, value: None).repartition("first")
    stream.map(lambda key, value: (key, value)).left_join(builder.table("table"), slashed).to("out")
    assert each_step(builder.build(), [("in", "k", "x", 1)]) == [["None=x/None@1"]]


VERSIONS = [
    ("table", "k", "t10", 10),
    ("in", "k", "s5", 5),
    ("in", "k", "s12", 12),
    ("table", "k", "t11", 11),
    ("in", "k", "s9", 9),
    ("in", "k", "s14", 14),
    ("in", "k", "s17", 17),
    ("in", "k", "s11", 11),
    ("in", "k", "s12b", 12),
    ("in", "j", "s30", 30),
]


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
def test_with_a_grace_records_wait_for_late_rows(restarts):
    written = [
        [],
        [],
        ["k=s5/None@5"],
        [],
        [],
        ["k=s9/None@9"],
        ["k=s12/t11@12"],
        ["k=s11/t11@11"],
        ["k=s12b/t11@12"],
        ["k=s14/t11@14", "k=s17/t11@17"],
    ]
    topology = joined("left_join", store=versions(), grace=5 * MS)
    assert each_step(topology, VERSIONS, restarts=restarts) == written
    without_none = [[text for text in texts if "None" not in text] for texts in written]
    assert each_step(joined("join", store=versions(), grace=5 * MS), VERSIONS, restarts=restarts) == without_none


def test_without_a_grace_records_are_joined_with_the_versions_stored_so_far():
    assert each_step(joined("left_join", store=versions()), VERSIONS) == [
        [],
        ["k=s5/None@5"],
        ["k=s12/t10@12"],
        [],
        ["k=s9/None@9"],
        ["k=s14/t11@14"],
        ["k=s17/t11@17"],
        ["k=s11/t11@11"],
        ["k=s12b/t11@12"],
        ["j=s30/None@30"],
    ]


def test_buffered_records_are_released_by_timestamp_then_key_then_arrival_with_their_headers(runtime):
    steps = [
        ("table", "a", "ta", 0),
        ("table", "b", "tb", 0),
        ("in", "b", "s1", 5, (("h", b"1"),)),
        ("in", "a", "s2", 6),
        ("in", "b", "s3", 6),
        ("in", "a", "s4", 6),
        ("in", "a", "s5", 16),
    ]
    outputs, _ = runtime.run(joined("join", store=versions(), grace=10 * MS), steps)
    assert outputs["out"] == [
        Record("b", "s1/tb", 5, (("h", b"1"),)),
        Record("a", "s2/ta", 6),
        Record("a", "s4/ta", 6),
        Record("b", "s3/tb", 6),
    ]


def test_a_version_older_than_the_history_is_not_found():
    steps = [
        ("table", "k", "t10", 10),
        ("table", "k", "t20", 20),
        ("table", "j", "u40", 40),
        ("in", "k", "s15", 15),
        ("in", "k", "s25", 25),
        ("table", "k", None, 30),
        ("in", "k", "s31", 31),
        ("in", "k", "s29", 29),
    ]
    topology = joined("left_join", store=versions(history_ms=15))
    assert each_step(topology, steps)[3:] == [
        ["k=s15/None@15"],
        ["k=s25/t20@25"],
        [],
        ["k=s31/None@31"],
        ["k=s29/t20@29"],
    ]


ROWS = {
    "filter": (lambda table: table.filter(lambda key, value: value != "no"), "{}"),
    "map_values": (lambda table: table.map_values(lambda value: None if value == "no" else f"{value}!"), "{}!"),
    "filter of map_values": (
        lambda table: table.map_values(lambda value: f"{value}!").filter(lambda key, value: value != "no!"),
        "{}!",
    ),
    "a join": (
        lambda table: table.filter(lambda key, value: value != "no").join(table.map_values(str.upper), slashed),
        "{0}/{1}",
    ),
}


@pytest.mark.parametrize("store", [None, versions()], ids=["", "versioned"])
@pytest.mark.parametrize("rows", ROWS)
def test_the_rows_of_a_derived_table_are_looked_up(rows, store):
    derive, text = ROWS[rows]
    steps = [
        ("table", "k", "a", 1),
        ("in", "k", "s1", 2),
        ("table", "k", "no", 3),
        ("in", "k", "s2", 4),
        ("table", "k", "b", 5),
        ("in", "k", "s3", 6),
    ]
    a, b = (text.format(value, value.upper()) for value in "ab")
    written = [[], [f"k=s1/{a}@2"], [], ["k=s2/None@4"], [], [f"k=s3/{b}@6"]]
    assert each_step(joined("left_join", derive, store=store), steps) == written


def test_windowed_counts_are_looked_up_by_windowed_key():
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(hr.TimeWindows.of(10 * MS)).count(store="counts")
    other = builder.stream("other").group_by_key().windowed_by(hr.TimeWindows.of(10 * MS)).count()
    other.to_stream().left_join(counts, slashed).to("out")
    steps = [("in", "k", "", 1), ("in", "k", "", 2), ("other", "k", "", 9), ("other", "k", "", 10), ("in", "k", "", 30)]
    assert each_step(builder.build(), [*steps, ("other", "k", "", 11)]) == [
        [],
        [],
        ["[k@0/10]=1/2@9"],
        ["[k@10/20]=1/None@10"],
        [],
        ["[k@10/20]=2/None@11"],
    ]


def test_joins_of_a_stream_whose_key_changed_share_its_repartition():
    builder = StreamsBuilder()
    table = builder.table("table", key_serde=serdes.Long())
    swapped = builder.stream("in").map(lambda key, value: (value, key))
    swapped.join(table, slashed, key_serde=serdes.Long()).to("out")
    swapped.left_join(table, slashed, key_serde=serdes.Long()).to("out")
    topology = builder.build()
    assert topology.describe().count("-repartition)") == 1
    assert each_step(topology, [("table", 7, "t", 1), ("in", "k", 7, 2), ("in", "k", 8, 3)]) == [
        [],
        ["7=k/t@2", "7=k/t@2"],
        ["8=k/None@3"],
    ]


def test_explain_pending_shows_which_records_wait_for_late_rows():
    topology = joined("join", store=versions(), grace=10 * MS)
    with TopologyTestDriver(topology) as driver:
        records = driver.input_topic("in")
        assert driver.explain_pending() == [Pending("joined", "joined-Buffer", (), "record")]
        records.pipe("b", "s1", 5)
        records.pipe("a", "s2", 8)
        waiting = PendingTask("0_0", 2, "b", since_ms=5, release_ms=15, stream_time_ms=8)
        assert driver.explain_pending("joined") == [Pending("joined", "joined-Buffer", (waiting,), "record")]
        assert str(driver.explain_pending("joined-Buffer")[0]) == (
            "joined: 2 records wait; the oldest is 'b', held back since 5; it leaves when a record with timestamp 15 "
            "or later arrives (any key); stream time is 8."
        )
        driver.restart()
        records.pipe("c", "s3", 14)
        assert driver.explain_pending()[0].waiting == 3
        records.pipe("c", "s4", 15)
        waiting = PendingTask("0_0", 3, "a", since_ms=8, release_ms=18, stream_time_ms=15)
        assert driver.explain_pending() == [Pending("joined", "joined-Buffer", (waiting,), "record")]
        assert [record.key for record in driver.store("joined-Buffer").all()] == ["a", "c", "c"]


ELSEWHERE = StreamsBuilder()
DOES_NOT_APPLY = "which does not apply here; it takes 'foreign_key', 'grace', 'key_serde', 'name', 'value_serde'."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda s, t, v: s.join(t, slashed, grace=5 * MS),
            "keeps only its latest rows, so it cannot tell a late row from an early one",
        ),
        (lambda s, t, v: s.join(v, slashed, grace=101 * MS), "longer than the history of the table, 0:00:00.100000"),
        (lambda s, t, v: s.join(v.map_values(str, store="s"), slashed, grace=MS), "keeps only its latest rows"),
        (lambda s, t, v: s.join(v, slashed, grace=-1 * MS), "grace"),
        (lambda s, t, v: s.join(v, slashed, grace=5), "grace"),
        (lambda s, t, v: s.join(t, slashed, within=hr.JoinWindows.of(MS)), DOES_NOT_APPLY),
        (lambda s, t, v: s.left_join(t, slashed, key_selector=lambda k, v: v), DOES_NOT_APPLY),
        (lambda s, t, v: s.join(t, slashed, store="x"), DOES_NOT_APPLY),
        (lambda s, t, v: s.join(t, slashed, other_value_serde=serdes.Long()), DOES_NOT_APPLY),
        (
            lambda s, t, v: s.join(t, slashed, foreign_key=lambda k, v: v, grace=MS),
            "join() of a stream with a table by f",
        ),
        (
            lambda s, t, v: s.outer_join(t, slashed),
            "outer_join() of <KStream KSTREAM-SOURCE-0000000000> was given <KTable",
        ),
        (lambda s, t, v: s.join("table", slashed), "allowed: a KStream, a KTable or a GlobalKTable"),
        (lambda s, t, v: s.join(ELSEWHERE.table("t"), slashed), "of another StreamsBuilder; both must be of one"),
        (lambda s, t, v: s.join(t, None), "join() needs a function joiner(left, right); got None"),
        (
            lambda s, t, v: s.join(t, slashed, foreign_key="x"),
            "join() needs a function foreign_key(key, value); got 'x'",
        ),
    ],
)
def test_invalid_joins_are_refused_with_a_reason(call, message):
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.table("table")
    with pytest.raises(TopologyError) as refused:
        call(stream, table, builder.table("versioned", store=versions()))
    assert message in str(refused.value)


def test_the_error_of_a_failing_joiner_names_the_operator_and_the_record():
    builder = StreamsBuilder()
    builder.stream("in").join(builder.table("table"), lambda value, row: value // row, name="ratio").to("out")
    with pytest.raises(hr.ProcessingError, match=r"ratio failed on record in-0@0 \(key 'k', timestamp 2\)"):
        DriverRuntime().run(builder.build(), [("table", "k", 0, 1), ("in", "k", 1, 2)])
