"""Joins of two tables by key: both sides trigger, a result carries the higher timestamp of the two rows."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, Stores, StreamsBuilder, Suppressed, TopologyError, serdes
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import DriverRuntime
from tests.support.steps import each_step, slashed

MS = timedelta(milliseconds=1)
KINDS = ["join", "left_join", "outer_join"]

STEPS = [
    ("left", "k", "l1", 10),
    ("right", "k", "r1", 5),
    ("left", "k", "l2", 7),
    ("right", "k", None, 20),
    ("right", "k", None, 21),
    ("left", "k", None, 3),
    ("left", "k", None, 4),
    ("right", "k", "r2", 30),
    ("left", "k", "l3", 25),
    ("left", "k", None, 26),
    ("right", "k", None, 27),
]

# Steps, and the results of the Java test driver for each.
WRITTEN = {
    "join": [
        [],
        ["k=l1/r1@10"],
        ["k=l2/r1@7"],
        ["k=None@20"],
        ["k=None@21"],
        [],
        [],
        [],
        ["k=l3/r2@30"],
        ["k=None@30"],
        [],
    ],
    "left_join": [
        ["k=l1/None@10"],
        ["k=l1/r1@10"],
        ["k=l2/r1@7"],
        ["k=l2/None@20"],
        ["k=l2/None@21"],
        ["k=None@3"],
        [],
        [],
        ["k=l3/r2@30"],
        ["k=None@30"],
        [],
    ],
    "outer_join": [
        ["k=l1/None@10"],
        ["k=l1/r1@10"],
        ["k=l2/r1@7"],
        ["k=l2/None@20"],
        ["k=l2/None@21"],
        ["k=None@3"],
        [],
        ["k=None/r2@30"],
        ["k=l3/r2@30"],
        ["k=None/r2@30"],
        ["k=None@27"],
    ],
}


def joined(kind, left=lambda builder: builder.table("left"), right=lambda builder: builder.table("right"), **options):
    builder = StreamsBuilder()
    getattr(left(builder), kind)(right(builder), slashed, **options).to_stream().to("out")
    return builder.build()


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_change_of_either_side_gives_the_same_results_as_kafka_streams(kind, restarts):
    assert each_step(joined(kind), STEPS, restarts=restarts) == WRITTEN[kind]
    assert each_step(joined(kind, store="joined"), STEPS, restarts=restarts) == WRITTEN[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_joins_on_spark_have_the_same_results_as_in_the_driver(runtime, kind):
    ascending = [(topic, key, value, at) for at, (topic, key, value, _) in enumerate(STEPS)]
    expected = [f"k={text.split('=')[1].split('@')[0]}" for texts in WRITTEN[kind] for text in texts]
    outputs, _ = runtime.run(joined(kind), [*ascending, ("right", None, "dropped", 11)])
    assert [f"{record.key}={record.value}" for record in outputs["out"]] == expected


def test_a_result_has_the_headers_of_the_record_that_caused_it():
    topology = joined("join")
    steps = [("left", "k", "l", 1, (("of", b"left"),)), ("right", "k", "r", 2, (("of", b"right"),))]
    outputs, _ = DriverRuntime().run(topology, steps)
    assert outputs["out"] == [Record("k", "l/r", 2, (("of", b"right"),))]


ROWS = {
    "filter": (lambda table: table.filter(lambda key, value: value != "no"), "{}"),
    "filter with a store": (lambda table: table.filter(lambda key, value: value != "no", store="kept"), "{}"),
    "filter_not": (lambda table: table.filter_not(lambda key, value: value == "no"), "{}"),
    "map_values": (lambda table: table.map_values(lambda value: None if value == "no" else f"{value}!"), "{}!"),
    "map_values with a store": (
        lambda table: table.map_values(lambda value: None if value == "no" else f"{value}!", store="kept"),
        "{}!",
    ),
    "map_values_with_key": (
        lambda table: table.map_values_with_key(lambda key, value: None if value == "no" else f"{key} {value}"),
        "k {}",
    ),
    "several": (
        lambda table: (
            table.map_values(lambda value: f"{value}!")
            .filter(lambda key, value: value != "no!")
            .map_values(lambda value: f"{value}?")
        ),
        "{}!?",
    ),
    "a table of changes": (
        lambda table: table.filter_not(lambda key, value: value == "no").to_stream().to_table(),
        "{}",
    ),
    "suppress": (
        lambda table: table.filter_not(lambda key, value: value == "no").suppress(Suppressed.until_time_limit(0 * MS)),
        "{}",
    ),
}


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
@pytest.mark.parametrize("rows", ROWS)
def test_the_rows_of_a_derived_table_are_looked_up(rows, restarts):
    """Changes of the right side look up left rows through derived tables."""
    derive, text = ROWS[rows]
    steps = [
        ("left", "k", "a", 10),
        ("right", "k", "r1", 5),
        ("left", "k", "no", 11),
        ("right", "k", "r2", 6),
        ("left", "k", "b", 12),
        ("right", "k", "r3", 20),
        ("left", "k", None, 13),
        ("right", "k", "r4", 21),
    ]
    a, b = text.format("a"), text.format("b")
    written = [[], [f"k={a}/r1@10"], ["k=None@11"], [], [f"k={b}/r2@12"], [f"k={b}/r3@20"], ["k=None@20"], []]
    topology = joined("join", left=lambda builder: derive(builder.table("left")))
    assert each_step(topology, steps, restarts=restarts) == written


@pytest.mark.parametrize("store", [None, "both"], ids=["worked out", "stored"])
def test_rows_of_a_join_are_looked_up_by_the_next_join(store):
    builder = StreamsBuilder()
    first, second, third = (builder.table(name) for name in ("first", "second", "third"))
    first.join(second, slashed, store=store).outer_join(third, slashed).to_stream().to("out")
    steps = [
        ("third", "k", "c", 1),
        ("first", "k", "a", 30),
        ("third", "k", "d", 2),
        ("second", "k", "b", 3),
        ("third", "k", "e", 4),
        ("first", "k", None, 5),
        ("third", "k", None, 6),
    ]
    assert each_step(builder.build(), steps) == [
        ["k=None/c@1"],
        [],
        ["k=None/d@2"],
        ["k=a/b/d@30"],
        ["k=a/b/e@30"],
        ["k=None/e@5"],
        ["k=None@6"],
    ]


def counts(builder, topic, windows):
    return builder.stream(topic).group_by_key().windowed_by(windows).count()


@pytest.mark.parametrize("tracking", [False, True], ids=["one clock", "a clock for each key"])
def test_windowed_counts_join_by_key_and_window(tracking):
    builder = StreamsBuilder()
    windows = hr.TimeWindows.of(10 * MS, grace=5 * MS)
    clicks, views = (counts(builder, topic, windows) for topic in ("clicks", "views"))
    clicks.join(views, slashed).to_stream().to("out")
    steps = [
        ("clicks", "k", "", 1),
        ("views", "k", "", 2),
        ("clicks", "j", "", 3),
        ("views", "k", "", 12),
        ("clicks", "k", "", 11),
        ("views", "k", "", 9),
        ("clicks", "k", "", 14),
        ("views", "k", "", 40),
        ("clicks", "k", "", 10),
    ]
    assert each_step(builder.build(), steps, allow_stream_time_key_tracking=tracking) == [
        [],
        ["[k@0/10]=1/1@2"],
        [],
        [],
        ["[k@10/20]=1/1@12"],
        ["[k@0/10]=1/2@9"],
        ["[k@10/20]=2/1@14"],
        [],
        [],  # that window has expired
    ]


def test_session_counts_join_by_key_and_session():
    builder = StreamsBuilder()
    windows = hr.SessionWindows.of(5 * MS)
    clicks, views = (counts(builder, topic, windows) for topic in ("clicks", "views"))
    clicks.left_join(views, slashed).to_stream().to("out")
    steps = [
        ("clicks", "k", "", 1),
        ("views", "k", "", 1),
        ("views", "k", "", 3),
        ("clicks", "k", "", 3),
    ]
    assert each_step(builder.build(), steps) == [
        ["[k@1/1]=1/None@1"],
        ["[k@1/1]=1/1@1"],
        ["[k@1/1]=1/None@1"],
        ["[k@1/1]=None@1", "[k@1/3]=2/2@3"],
    ]


def test_joins_see_the_last_emitted_value_of_a_row_that_suppress_holds_back():
    builder = StreamsBuilder()
    held = builder.table("left").suppress(Suppressed.until_time_limit(10 * MS), name="held")
    held.outer_join(builder.table("right"), slashed).to_stream().to("out")
    steps = [
        ("left", "k", "l1", 10),
        ("right", "k", "r1", 1),
        ("left", "j", "x", 20),
        ("left", "k", "l2", 21),
        ("right", "k", "r2", 2),
        ("left", "j", "y", 31),
    ]
    assert each_step(builder.build(), steps, restarts=True) == [
        [],
        ["k=None/r1@1"],
        ["k=l1/r1@10"],
        [],
        ["k=l1/r2@2"],
        ["j=y/None@31", "k=l2/r2@21"],
    ]


def versioned(builder):
    return builder.table("left", store=Stores.versioned_key_value("versions", history=100 * MS))


@pytest.mark.parametrize(
    "derive",
    [
        lambda table: table,
        lambda table: table.filter(lambda key, value: True),
        lambda table: table.map_values(lambda value: value),
    ],
    ids=["", "filter", "map_values"],
)
def test_a_late_version_does_not_change_the_row(derive):
    steps = [
        ("right", "k", "r1", 0),
        ("left", "k", "a", 10),
        ("left", "k", "late", 5),
        ("right", "k", "r2", 1),
        ("left", "k", None, 7),
        ("left", "k", "c", 12),
        ("left", "k", None, 20),
        ("left", "k", "late", 15),
        ("right", "k", "r3", 2),
    ]
    topology = joined("join", left=lambda builder: derive(versioned(builder)))
    assert each_step(topology, steps) == [
        [],
        ["k=a/r1@10"],
        [],
        ["k=a/r2@10"],
        [],
        ["k=c/r2@12"],
        ["k=None@20"],
        [],
        [],
    ]


@pytest.mark.parametrize(
    "derive",
    [
        lambda table: table.filter(lambda key, value: True, store="kept"),
        lambda table: table.map_values(lambda value: value, store="kept"),
    ],
    ids=["filter", "map_values"],
)
def test_a_derived_table_with_a_store_is_not_versioned_and_a_late_version_becomes_the_row(derive):
    """As in the Java test driver: the store has the value that was put last, and the join receives it."""
    steps = [
        ("right", "k", "r1", 0),
        ("left", "k", "a", 10),
        ("left", "k", "late", 5),
        ("right", "k", "r2", 1),
        ("left", "k", None, 7),
        ("left", "k", "c", 12),
    ]
    assert each_step(joined("join", left=lambda builder: derive(versioned(builder))), steps) == [
        [],
        ["k=a/r1@10"],
        ["k=late/r1@5"],
        ["k=late/r2@5"],
        ["k=None@7"],
        ["k=c/r2@12"],
    ]


def test_a_stored_result_can_be_queried():
    with TopologyTestDriver(joined("outer_join", store="joined", value_serde=serdes.String())) as driver:
        left, right = driver.input_topic("left"), driver.input_topic("right")
        left.pipe("a", "l", 10)
        left.pipe("b", "l", 11)
        right.pipe("a", "r", 5)
        right.pipe("c", "r", 12)
        left.pipe("b", None, 13)
        driver.restart()
        assert list(driver.store("joined").all()) == [("a", "l/r"), ("c", "None/r")]
        assert driver.store("joined").get_with_timestamp("a") == ("l/r", 10)
        assert driver.store("joined").get("b") is None


def test_a_joiner_that_returns_none_deletes_the_row():
    builder = StreamsBuilder()
    pairs = builder.table("left").join(
        builder.table("right"), lambda left, right: None if left == right else [left, right]
    )
    pairs.to_stream().to("out")
    steps = [("left", "k", 1, 1), ("right", "k", 2, 2), ("left", "k", 2, 3), ("right", "k", 3, 4)]
    assert each_step(builder.build(), steps) == [[], ["k=[1, 2]@2"], ["k=None@3"], ["k=[2, 3]@4"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", [None, "joined"], ids=["", "stored"])
def test_an_aggregation_subtracts_the_previous_result_of_the_join(runtime, kind, store):
    builder = StreamsBuilder()
    both = getattr(builder.table("left"), kind)(builder.table("right"), lambda left, right: [left, right], store=store)
    both.group_by(lambda key, value: ("all", f"{key}{value}")).aggregate(
        set,
        lambda _, value, members: members | {value},
        lambda _, value, members: members - {value},
        value_serde=serdes.Json(set[str]),
        store="members",
    ).map_values(sorted).to_stream().to("out")
    steps = [
        ("left", "a", 1, 1),
        ("right", "a", 2, 2),
        ("right", "b", 3, 3),
        ("left", "a", 4, 4),
        ("left", "b", 5, 5),
        ("right", "a", None, 6),
        ("left", "b", None, 7),
    ]
    outputs, _ = runtime.run(builder.build(), steps)
    last = {
        "join": [],
        "left_join": ["a[4, None]"],
        "outer_join": ["a[4, None]", "b[None, 3]"],
    }
    assert outputs["out"][-1].value == last[kind]
    if kind == "left_join":
        assert [record.value for record in outputs["out"]] == [
            ["a[1, None]"],
            ["a[1, 2]"],
            ["a[4, 2]"],
            ["a[4, 2]", "b[5, 3]"],
            ["a[4, None]", "b[5, 3]"],
            ["a[4, None]"],
        ]


def test_a_table_can_be_joined_with_itself():
    builder = StreamsBuilder()
    table = builder.table("in")
    table.join(table.map_values(str.upper), slashed).to_stream().to("out")
    assert each_step(builder.build(), [("in", "k", "a", 1), ("in", "k", "b", 2), ("in", "k", None, 3)]) == [
        ["k=a/A@1", "k=a/A@1"],
        ["k=b/B@2", "k=b/B@2"],
        [],
    ]


ELSEWHERE = StreamsBuilder()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, s: t.join(s, slashed), "allowed: a KTable. A stream is joined with a table from its own side"),
        (
            lambda t, s: t.outer_join("right", slashed),
            "outer_join() of <KTable KTABLE-SOURCE-0000000002> was given 'ri",
        ),
        (lambda t, s: t.join(ELSEWHERE.table("other"), slashed), "of another StreamsBuilder; both must be of one"),
        (lambda t, s: t.join(t, "joiner"), "join() needs a function joiner(left, right); got 'joiner' of type str"),
        (lambda t, s: t.join(t, slashed, foreign_key=1), "join() needs a function foreign_key(key, value); got 1"),
        (lambda t, s: t.left_join(t, slashed, store=Stores.key_value("x")), "left_join() cannot use store=KeyValue"),
        (lambda t, s: t.join(t, slashed, name="a b"), "'a b' cannot name a node"),
        (lambda t, s: t.join(t, slashed, store="left rows"), "'left rows' cannot name a store"),
        (
            lambda t, s: [t.join(t, slashed, name="twice") for _ in range(2)],
            "There is already a node named 'twice-join-this'",
        ),
    ],
)
def test_invalid_joins_are_refused_with_a_reason(call, message):
    builder = StreamsBuilder()
    with pytest.raises(TopologyError) as refused:
        call(builder.table("left"), builder.stream("stream"))
    assert message in str(refused.value)


def test_the_error_of_a_failing_joiner_names_the_operator_and_the_record():
    builder = StreamsBuilder()
    table = builder.table("left").join(builder.table("right"), lambda left, right: left // right, name="ratio")
    table.to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("left").pipe("k", 1, 1)
        with pytest.raises(hr.ProcessingError, match=r"ratio-join-other failed on record right-0@0 \(key 'k', time"):
            driver.input_topic("right").pipe("k", 0, 2)
        driver.input_topic("right").pipe("k", 1, 3)
        assert driver.output_topic("out").read_all() == [Record("k", 1, 3)]
