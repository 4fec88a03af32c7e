"""Foreign-key joins: rows of a table, or records of a stream, with the row of another table that they refer to."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, Stores, StreamsBuilder, TopologyError, serdes
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import DriverRuntime
from tests.support.steps import each_step, slashed

MS = timedelta(milliseconds=1)


def refers_to(key, value):
    """`A:1` refers to `A`, and `null` to nothing."""
    return None if value.startswith("null") else value.split(":")[0]


def joined(kind, left=lambda builder: builder.table("left"), right=lambda builder: builder.table("right"), **options):
    builder = StreamsBuilder()
    table = getattr(left(builder), kind)(right(builder), slashed, foreign_key=refers_to, name="joined", **options)
    table.to_stream().to("out")
    return builder.build()


# A step, the results of an inner join, and those of a left join if they differ.
VECTOR = [
    (("left", "p1", "A:1", 10), [], ["p1=A:1/None@10"]),
    (("right", "A", "a1", 5), ["p1=A:1/a1@5"]),
    (("left", "p1", "A:2", 7), ["p1=A:2/a1@7"]),
    (("left", "p2", "A:3", 30), ["p2=A:3/a1@30"]),
    (("right", "A", "a2", 8), ["p1=A:2/a2@8", "p2=A:3/a2@8"]),
    (("left", "p1", "B:1", 12), ["p1=None@12"], ["p1=B:1/None@12"]),
    (("right", "B", "b1", 40), ["p1=B:1/b1@40"]),
    (("right", "A", None, 50), ["p2=None@50"], ["p2=A:3/None@50"]),
    (("left", "p1", None, 3), ["p1=None@40"], ["p1=None@3"]),
    (("left", "p1", None, 4), []),
    (("left", "p3", "null", 60), [], ["p3=null/None@60"]),
    (("left", "p3", "A:9", 61), [], ["p3=A:9/None@61"]),
    (("left", "p3", "null2", 62), ["p3=None@62"], ["p3=null2/None@62"]),
    (("left", "p3", "A:9", 63), [], ["p3=A:9/None@63"]),
    (("right", "A", "a3", 1), ["p2=A:3/a3@1", "p3=A:9/a3@1"]),
    (("left", "p3", "A:9", 64), ["p3=A:9/a3@64"]),
    (("left", "p3", "B:9", 65), ["p3=B:9/b1@65"]),
]


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
@pytest.mark.parametrize(("kind", "column"), [("join", 1), ("left_join", -1)])
def test_every_change_of_either_side_gives_the_same_results_as_kafka_streams(kind, column, restarts):
    steps, written = [row[0] for row in VECTOR], [row[column] for row in VECTOR]
    assert each_step(joined(kind), steps, restarts=restarts) == written
    assert each_step(joined(kind, store="rows"), steps, restarts=restarts) == written


@pytest.mark.parametrize("kind", ["join", "left_join"])
def test_joins_on_spark_have_the_same_results_as_in_the_driver(runtime, kind):
    ascending = [(topic, key, value, at) for at, ((topic, key, value, _), *_) in enumerate(VECTOR)]
    expected = [text.split("@")[0] for row in VECTOR for text in (row[1] if kind == "join" else row[-1])]
    outputs, _ = runtime.run(joined(kind), ascending)
    assert [f"{record.key}={record.value}" for record in outputs["out"]] == expected


def test_a_result_has_the_headers_of_the_record_that_caused_it():
    steps = [
        ("right", "A", "a1", 1, (("of", b"right"),)),
        ("left", "p", "A:1", 2, (("of", b"left"),)),
        ("right", "A", "a2", 3, (("of", b"right again"),)),
    ]
    outputs, _ = DriverRuntime().run(joined("join"), steps)
    assert outputs["out"] == [
        Record("p", "A:1/a1", 2, (("of", b"left"),)),
        Record("p", "A:1/a2", 3, (("of", b"right again"),)),
    ]


def test_rows_without_a_foreign_key_are_counted_as_dropped_only_by_an_inner_join():
    steps = [
        ("left", "p", "null", 1),
        ("left", "p", "A:1", 2),
        ("left", "p", "null", 3),
        ("left", "p", None, 4),
        ("left", "q", None, 5),
        ("left", None, "A:1", 6),
    ]
    for kind, dropped in [("join", {"null foreign key": 2}), ("left_join", None)]:
        with TopologyTestDriver(joined(kind, left=lambda builder: builder.table("left", name="rows"))) as driver:
            for topic, *record in steps:
                driver.input_topic(topic).pipe(*record)
            metrics = driver.metrics()
        assert metrics.get("joined-subscription-registration-processor", {}).get("dropped") == dropped
        assert metrics["rows"]["dropped"] == {"null key": 1}


# An employee, `manager:version` as the value, and the results: each row joined with the row of the manager.
EMPLOYEES = [
    (("a", "a:0"), ["a=a:0/a:0@0"]),
    (("b", "a:1"), ["b=a:1/a:0@1"]),
    (("a", "a:2"), ["b=a:1/a:2@2", "a=a:2/a:2@2"]),
    (("a", "b:3"), ["b=a:1/b:3@3", "a=b:3/a:1@3"]),
    (("b", "a:4"), ["a=b:3/a:4@4", "b=a:4/b:3@4"]),
    (("a", "null:5"), ["b=a:4/null:5@5", "a=None@5"], ["b=a:4/null:5@5", "a=null:5/None@5"]),
    (("b", "b:6"), ["b=b:6/b:6@6"]),
    (("b", None), ["b=None@7"]),
    (("a", "a:7"), ["a=a:7/a:7@8"]),
    (("b", "a:8"), ["b=a:8/a:7@9"]),
    (("a", None), ["b=None@10", "a=None@10"], ["b=a:8/None@10", "a=None@10"]),
    (("a", "b:9"), ["b=a:8/b:9@11", "a=b:9/a:8@11"]),
]


@pytest.mark.parametrize(("kind", "column"), [("join", 1), ("left_join", -1)])
def test_a_table_can_be_joined_with_itself_including_rows_that_refer_to_themselves(runtime, kind, column):
    """The expected results are those of the Java test driver."""
    builder = StreamsBuilder()
    employees = builder.table("employees")
    getattr(employees, kind)(employees, slashed, foreign_key=refers_to).to_stream().to("out")
    steps = [("employees", *row[0], at) for at, row in enumerate(EMPLOYEES)]
    outputs, _ = runtime.run(builder.build(), steps)
    results = [f"{record.key}={record.value}@{record.timestamp_ms}" for record in outputs["out"]]
    assert results == [text for row in EMPLOYEES for text in row[column]]


@pytest.mark.parametrize(
    ("kind", "left_the_part", "moved"),
    [
        ("join", ["a=None@1"], ["b=None@4", "a=b:5/a:4@4"]),
        ("left_join", ["a=a:1/None@1"], ["b=a:4/None@4", "a=b:5/a:4@4"]),
    ],
)
def test_the_result_of_a_self_referring_row_is_deleted_when_the_row_leaves_the_filtered_table(
    kind, left_the_part, moved
):
    """The right table has only even rows. Kafka Streams keeps the old result of the inner join (see deviations.md)."""
    builder = StreamsBuilder()
    table = builder.table("in")
    even = table.filter(lambda key, value: int(value[-1]) % 2 == 0)
    getattr(table, kind)(even, slashed, foreign_key=refers_to).to_stream().to("out")
    rows = [("a", "a:0"), ("a", "a:1"), ("a", "a:2"), ("b", "a:4"), ("a", "b:5")]
    steps = [("in", *row, at) for at, row in enumerate(rows)]
    assert each_step(builder.build(), steps) == [
        ["a=a:0/a:0@0"],
        left_the_part,
        ["a=a:2/a:2@2"],
        ["b=a:4/a:2@3"],
        moved,
    ]


def test_a_row_of_a_table_joined_with_itself_has_no_result_once_it_is_deleted(runtime):
    """Its changes have old values that were never there, so it stays subscribed. As the Java test driver."""
    builder = StreamsBuilder()
    table = builder.table("in")
    pairs = table.outer_join(table, lambda one, other: None if "-" in f"{one}{other}" else f"{other}:{one}")
    pairs.join(pairs, slashed, foreign_key=refers_to).to_stream().to("out")
    steps = [("in", "c", "b", 1), ("in", "c", "-", 2), ("in", "b", "x", 3), ("in", "b", "y", 4)]
    outputs, _ = runtime.run(builder.build(), steps)
    results = [f"{record.key}={record.value}@{record.timestamp_ms}" for record in outputs["out"]]
    assert results == ["c=None@1", "b=None@3", "b=None@4"]


@pytest.mark.parametrize("stored", [{}, {"store": "pairs"}])
def test_a_row_of_a_table_joined_with_itself_has_no_result_with_a_foreign_key_that_it_no_longer_has(runtime, stored):
    """The old value of its changes, A+none, leads to no foreign key, so it stays subscribed. As in Java."""
    builder = StreamsBuilder()
    table = builder.table("in")
    pairs = table.join(table, lambda one, other: f"{one}+{other}", **stored)
    joined = pairs.left_join(
        builder.table("right"), slashed, foreign_key=lambda _, pair: pair[0] if pair == "A+A" else None
    )
    joined.to_stream().to("out")
    steps = [("in", "p", "A", 1), ("in", "p", "none", 2), ("right", "A", "a", 3)]
    outputs, _ = runtime.run(builder.build(), steps)
    results = [f"{record.key}={record.value}@{record.timestamp_ms}" for record in outputs["out"]]
    assert results == ["p=A+A/None@1", "p=A+A/None@1", "p=none+none/None@2", "p=none+none/None@2"]


@pytest.mark.parametrize("changes", ["B:2 B:3", "null:2 null:3", "null:2 B:3", "B:2 null:3", "B:2 A:3 B:4"])
def test_a_row_that_one_record_changes_twice_has_no_result_if_its_last_value_has_no_partner(changes):
    """Kafka Streams keeps the old result of the inner join in the first three cases (see deviations.md)."""
    builder = StreamsBuilder()
    rows = builder.stream("left").flat_map_values(lambda text: text.split()).to_table()
    rows.join(builder.table("right"), slashed, foreign_key=refers_to).to_stream().to("out")
    steps = [("right", "A", "a", 1), ("left", "p", "A:1", 2), ("left", "p", changes, 3)]
    assert each_step(builder.build(), steps) == [[], ["p=A:1/a@2"], ["p=None@3"]]


def test_a_result_can_be_joined_with_its_left_table_again():
    builder = StreamsBuilder()
    left = builder.table("left")
    first = left.join(builder.table("right"), slashed, foreign_key=refers_to)
    first.join(left, lambda both, row: f"{both} {row}").to_stream().to("out")
    steps = [
        ("left", "p", "A:1", 1),
        ("right", "A", "a1", 2),
        ("left", "p", "A:2", 3),
        ("right", "A", "a2", 4),
        ("right", "A", None, 5),
        ("right", "A", "a3", 6),
        ("left", "p", None, 7),
    ]
    assert each_step(builder.build(), steps, restarts=True) == [
        [],
        ["p=A:1/a1 A:1@2"],
        ["p=A:1/a1 A:2@3", "p=A:2/a1 A:2@3"],
        ["p=A:2/a2 A:2@4"],
        ["p=None@5"],
        ["p=A:2/a3 A:2@6"],
        ["p=None@7"],
    ]


def test_a_result_can_be_the_left_table_of_another_foreign_key_join(runtime):
    """Orders refer to products, and products to makers."""
    builder = StreamsBuilder()
    orders, products, makers = (builder.table(name) for name in ("orders", "products", "makers"))
    bought = orders.join(products, lambda order, product: [order, product], foreign_key=lambda key, order: order)
    made = bought.left_join(
        makers,
        lambda pair, maker: [*pair, maker],
        foreign_key=lambda key, pair: pair[1],
        value_serde=serdes.Json(),
        store="made",
    )
    made.to_stream().to("out")
    steps = [
        ("orders", "o1", "pen", 1),
        ("products", "pen", "acme", 2),
        ("makers", "acme", "CH", 3),
        ("orders", "o2", "pen", 4),
        ("products", "pen", "bic", 5),
        ("makers", "bic", "FR", 6),
        ("products", "pen", None, 7),
    ]
    outputs, _ = runtime.run(builder.build(), steps)
    assert outputs["out"] == [
        Record("o1", ["pen", "acme", None], 2),
        Record("o1", ["pen", "acme", "CH"], 3),
        Record("o2", ["pen", "acme", "CH"], 4),
        Record("o1", ["pen", "bic", None], 5),
        Record("o2", ["pen", "bic", None], 5),
        Record("o1", ["pen", "bic", "FR"], 6),
        Record("o2", ["pen", "bic", "FR"], 6),
        Record("o1", None, 7),
        Record("o2", None, 7),
    ]


def test_a_stored_result_can_be_queried():
    with TopologyTestDriver(joined("join", store="rows", value_serde=serdes.String())) as driver:
        for topic, *record in [("left", "p", "A:1", 1), ("right", "A", "a", 5), ("left", "q", "A:2", 3)]:
            driver.input_topic(topic).pipe(*record)
        driver.input_topic("left").pipe("p", None, 6)
        driver.restart()
        assert list(driver.store("rows").all()) == [("q", "A:2/a")]
        assert driver.store("rows").get_with_timestamp("q") == ("A:2/a", 5)


def test_an_aggregation_subtracts_the_previous_result_of_the_join():
    builder = StreamsBuilder()
    both = builder.table("left").join(builder.table("right"), slashed, foreign_key=refers_to)
    both.group_by(lambda key, value: (value.split("/")[1], key)).aggregate(
        list, lambda _, key, keys: sorted([*keys, key]), lambda _, key, keys: [k for k in keys if k != key]
    ).to_stream().to("out")
    steps = [
        ("right", "A", "red", 1),
        ("left", "p", "A:1", 2),
        ("left", "q", "A:1", 3),
        ("right", "A", "blue", 4),
        ("left", "p", None, 5),
    ]
    assert each_step(builder.build(), steps) == [
        [],
        ["red=['p']@2"],
        ["red=['p', 'q']@3"],
        ["red=['q']@4", "blue=['p']@4", "red=[]@4", "blue=['p', 'q']@4"],
        ["blue=['q']@5"],
    ]


def versioned(topic):
    return lambda builder: builder.table(topic, store=Stores.versioned_key_value(f"{topic}-rows", history=100 * MS))


def test_late_versions_of_a_row_emit_no_results():
    steps = [
        ("left", "p", "A:1", 10),
        ("right", "A", "a1", 20),
        ("left", "p", "B:2", 5),
        ("right", "A", "a2", 15),
        ("left", "q", "A:3", 11),
        ("right", "A", None, 19),
        ("right", "A", "a4", 21),
    ]
    assert each_step(joined("join", versioned("left"), versioned("right")), steps) == [
        [],
        ["p=A:1/a1@20"],
        [],
        [],
        ["q=A:3/a1@20"],
        [],
        ["p=A:1/a4@21", "q=A:3/a4@21"],
    ]


def test_rows_of_a_windowed_table_can_refer_to_rows(runtime):
    """The count of each window refers to its key without the window."""
    builder = StreamsBuilder()
    windows = hr.TimeWindows.of(10 * MS)
    counts = builder.stream("clicks").group_by_key().windowed_by(windows).count()
    names = builder.table("names")
    counts.left_join(names, slashed, foreign_key=lambda windowed, count: windowed.key).to_stream().to("out")
    steps = [("clicks", "k", "", 1), ("clicks", "k", "", 12), ("names", "k", "Kim", 13), ("clicks", "k", "", 14)]
    outputs, _ = runtime.run(builder.build(), steps)
    assert [f"{record.key}={record.value}@{record.timestamp_ms}" for record in outputs["out"]] == [
        "[k@0/10]=1/None@1",
        "[k@10/20]=1/None@12",
        "[k@0/10]=1/Kim@13",
        "[k@10/20]=1/Kim@13",
        "[k@10/20]=2/Kim@14",
    ]


def test_rows_can_refer_to_rows_of_a_windowed_table():
    builder = StreamsBuilder()
    windows = hr.TimeWindows.of(10 * MS)
    counts = builder.stream("clicks").group_by_key().windowed_by(windows).count()
    table = builder.table("left").join(
        counts, slashed, foreign_key=lambda key, start_ms: hr.Windowed("k", hr.Window(start_ms, start_ms + 10))
    )
    table.to_stream().to("out")
    steps = [("left", "p", 0, 1), ("left", "q", 10, 2), ("clicks", "k", "", 3), ("clicks", "k", "", 12)]
    assert each_step(builder.build(), steps) == [[], [], ["p=0/1@3"], ["q=10/1@12"]]


def test_foreign_keys_are_the_same_if_their_bytes_are_equal():
    builder = StreamsBuilder()
    right = builder.table("right", key_serde=serdes.Json())
    left = builder.table("left").join(right, slashed, foreign_key=lambda key, value: tuple(value[:1]))
    left.to_stream().to("out")
    steps = [
        ("right", ["A"], "a1", 1),
        ("left", "p", ["A", 1], 2),
        ("left", "p", ["A", 2], 3),
        ("right", ["A"], None, 4),
    ]
    assert each_step(builder.build(), steps) == [[], ["p=['A', 1]/a1@2"], ["p=['A', 2]/a1@3"], ["p=None@4"]]


def test_the_error_of_a_failing_foreign_key_function_names_the_operator_and_the_record():
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right")
    left.join(right, slashed, foreign_key=lambda key, value: value["of"], name="parts").to_stream().to("out")
    message = (
        r"parts-subscription-registration-processor failed on record left-0@0 \(key 'p', timestamp 1\), task 0_0: "
        r"KeyError: 'of'\n  at .*test_foreign_key_joins.py"
    )
    with TopologyTestDriver(builder.build()) as driver:
        with pytest.raises(hr.ProcessingError, match=message):
            driver.input_topic("left").pipe("p", {}, 1)
        driver.input_topic("right").pipe("A", "a", 2)
        driver.input_topic("left").pipe("p", {"of": "A"}, 3)
        assert driver.output_topic("out").read_all() == [Record("p", "{'of': 'A'}/a", 3)]


def test_the_error_of_a_failing_joiner_names_the_operator_and_the_record():
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right")
    left.join(right, lambda a, b: a // b, foreign_key=lambda key, value: "A", name="ratio").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("left").pipe("p", 1, 1)
        with pytest.raises(
            hr.ProcessingError, match=r"ratio-subscription-response-resolver failed on record right-0@0 \(key 'p'"
        ):
            driver.input_topic("right").pipe("A", 0, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, s: t.join(t, slashed, foreign_key="x"), "join() needs a function foreign_key(key, value); got 'x'"),
        (lambda t, s: t.join(s, slashed, foreign_key=refers_to), "allowed: a KTable. A stream is joined with a table"),
        (lambda t, s: t.join(t, slashed, foreign_key=refers_to, name="a b"), "'a b' cannot name a node"),
        (
            lambda t, s: t.left_join(t, slashed, foreign_key=refers_to, store=Stores.key_value("rows")),
            "left_join() cannot use store=KeyValue",
        ),
        (
            lambda t, s: s.join(t, slashed, foreign_key=refers_to, store="x"),
            "was given store='x', which does not apply",
        ),
    ],
)
def test_invalid_joins_are_refused_with_a_reason(call, message):
    builder = StreamsBuilder()
    with pytest.raises(TopologyError) as refused:
        call(builder.table("left"), builder.stream("stream"))
    assert message in str(refused.value)


def streamed(kind, *, store=None, **options):
    builder = StreamsBuilder()
    table = builder.table("right", store=store)
    getattr(builder.stream("in"), kind)(table, slashed, foreign_key=refers_to, name="joined", **options).to("out")
    return builder.build()


STREAMED = [
    (("in", "p", "A:1", 10), [], ["p=A:1/None@10"]),
    (("right", "A", "a1", 50), []),
    (("in", "p", "A:2", 5), ["p=A:2/a1@5"]),
    (("in", None, "A:3", 6), ["None=A:3/a1@6"]),
    (("in", "p", "null", 7), [], ["p=null/None@7"]),
    (("in", None, "null", 8), [], ["None=null/None@8"]),
    (("in", "p", None, 9), []),
    (("right", "A", None, 51), []),
    (("in", "p", "A:4", 11), [], ["p=A:4/None@11"]),
]


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
@pytest.mark.parametrize(
    ("kind", "column", "dropped"),
    [("join", 1, {"null foreign key": 2, "null value": 1}), ("left_join", -1, {"null value": 1})],
)
def test_records_of_a_stream_are_joined_with_the_row_they_refer_to(kind, column, dropped, restarts):
    steps = [row[0] for row in STREAMED]
    assert each_step(streamed(kind), steps, restarts=restarts) == [row[column] for row in STREAMED]
    with TopologyTestDriver(streamed(kind)) as driver:
        for topic, *record in steps:
            driver.input_topic(topic).pipe(*record)
        assert driver.metrics()["joined-select"]["dropped"] == dropped


def test_records_of_a_stream_are_joined_with_the_version_of_their_time():
    steps = [
        ("right", "A", "a10", 10),
        ("right", "A", "a20", 20),
        ("in", "p", "A:1", 15),
        ("in", "p", "A:2", 25),
        ("in", "p", "A:3", 5),
        ("right", "A", "a12", 12),
        ("in", "p", "A:4", 15),
    ]
    topology = streamed("left_join", store=Stores.versioned_key_value("rows", history=100 * MS))
    assert each_step(topology, steps) == [
        [],
        [],
        ["p=A:1/a10@15"],
        ["p=A:2/a20@25"],
        ["p=A:3/None@5"],
        [],
        ["p=A:4/a12@15"],
    ]


def test_results_of_a_stream_foreign_key_join_can_be_counted_by_their_own_key(runtime):
    """A result is in the task of the row it refers to; it is repartitioned before it is grouped by its own key."""
    builder = StreamsBuilder()
    products = builder.table("products", key_serde=serdes.Long())
    sold = builder.stream("sales").join(
        products, lambda sale, product: product, foreign_key=lambda customer, product: product
    )
    sold.group_by_key().aggregate(list, lambda key, product, bought: [*bought, product]).to_stream().to("out")
    steps = [
        ("products", 1, "pen", 1),
        ("products", 2, "ink", 2),
        ("sales", "ann", 1, 3),
        ("sales", "bob", 2, 4),
        ("sales", "ann", 2, 5),
        ("sales", "ann", 3, 6),
        ("sales", "ann", 1, 7),
    ]
    outputs, _ = runtime.run(builder.build(), steps)
    assert outputs["out"] == [
        Record("ann", ["pen"], 3),
        Record("bob", ["ink"], 4),
        Record("ann", ["pen", "ink"], 5),
        Record("ann", ["pen", "ink", "pen"], 7),
    ]


def test_records_without_a_key_pass_a_repartition_before_a_foreign_key_left_join():
    builder = StreamsBuilder()
    stream = builder.stream("in").select_key(lambda key, value: None).repartition("dealt")
    stream.left_join(builder.table("right"), slashed, foreign_key=refers_to).to("out")
    steps = [("right", "A", "a", 1), ("in", "p", "A:1", 2), ("in", "p", "null", 3)]
    assert each_step(builder.build(), steps) == [[], ["None=A:1/a@2"], ["None=null/None@3"]]
