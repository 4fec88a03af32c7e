"""Joins of streams: records whose timestamps are close enough, and in left and outer joins unmatched records.

The rule is Kafka Streams' own, as its reference describes it: both sides trigger, late records still match records that
the other side stores, results have the later timestamp; an unmatched record is emitted once stream time is beyond its
window and the grace. This does not depend on the wall clock, on batches or on restarts.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import JoinWindows, PendingTask, Record, StreamsBuilder, TopologyError, serdes
from headrace.dsl.joins.options import Join
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import SparkRuntime

MS = timedelta(milliseconds=1)
METHODS = {"inner": "join", "left": "left_join", "outer": "outer_join"}
RESTARTS = pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])


def within(difference, grace=0, before=None, after=None):
    return JoinWindows.of(
        difference * MS,
        before=None if before is None else before * MS,
        after=None if after is None else after * MS,
        grace=grace * MS,
    )


def pair(left, right):
    return f"{left or '_'}/{right or '_'}"


def topology(kind, windows, *, joiner=pair, **options):
    builder = StreamsBuilder()
    left, right = (builder.stream(topic, value_serde=serdes.String()) for topic in ("left", "right"))
    getattr(left, METHODS[kind])(right, joiner, within=windows, **options).to("out", value_serde=serdes.String())
    return builder.build()


def parse(word):
    """`L:k=v@5` is a record for the left topic with key, value and timestamp; the default key is `k`, `_` is null."""
    side, _, rest = word.partition(":")
    named, _, at = rest.rpartition("@")
    key, _, value = named.rpartition("=")
    texts = [None if text == "_" else text for text in (key or "k", value)]
    return {"L": "left", "R": "right"}[side], *texts, int(at)


class Driven:
    """A driver that shows the results of each record as `key:value@timestamp`; the key only if it is not `k`."""

    def __init__(self, topology, *, restarts=False, **settings):
        self.driver = TopologyTestDriver(topology, hr.StreamsConfig(application_id="t", **settings))
        self.restarts = restarts

    def __call__(self, word, headers=()):
        topic, *record = parse(word)
        self.driver.input_topic(topic).pipe(*record, headers=headers)
        if self.restarts:
            self.driver.restart()
        return self.out()

    def out(self):
        found = self.driver.output_topic("out").read_all()
        return " ".join(("" if r.key == "k" else f"{r.key}:") + f"{r.value}@{r.timestamp_ms}" for r in found)

    def check(self, *steps):
        for word, expected in steps:
            assert (word, self(word)) == (word, expected)


@RESTARTS
def test_an_inner_join_matches_records_within_the_windows_on_either_side(restarts):
    Driven(topology("inner", within(10, grace=5)), restarts=restarts).check(
        ("L:l0@0", ""),
        ("R:r10@10", "l0/r10@10"),
        ("R:r11@11", ""),
        ("L:l5@5", "l5/r10@10 l5/r11@11"),
        ("R:r0@0", "l0/r0@0 l5/r0@5"),
        ("R:z=z@21", ""),
    )


@RESTARTS
def test_a_record_however_late_matches_records_that_the_other_side_still_stores(restarts):
    """Late records are not dropped; records of a side expire only by later records of the same side."""
    Driven(topology("inner", within(10, grace=5)), restarts=restarts).check(
        ("L:z=z@100", ""),
        ("R:r45@45", ""),
        ("L:l45@45", "l45/r45@45"),
        ("R:z=y@91", "z:z/y@100"),
        ("L:l45@45", ""),
    )


@RESTARTS
def test_a_left_join_emits_unmatched_records_after_window_and_grace(restarts):
    Driven(topology("left", within(10, grace=5)), restarts=restarts).check(
        ("L:l0@0", ""),
        ("R:r15@15", ""),
        ("R:z=z@16", "l0/_@0"),
        ("L:l20@20", "l20/r15@20"),
        ("L:_=nk@23", "None:nk/_@23"),
        ("L:f=f@90", ""),
        ("L:q=q79@79", "q:q79/_@79"),
        ("L:q=q80@80", ""),
        ("L:q=q85@85", ""),
        ("R:zz=zz@106", "q:q80/_@80 q:q85/_@85 f:f/_@90"),
    )


@RESTARTS
def test_an_outer_join_emits_unmatched_records_of_both_sides(restarts):
    Driven(topology("outer", within(10)), restarts=restarts).check(
        ("L:a=l0@0", ""),
        ("R:b=r1@1", ""),
        ("R:a=r10@10", "a:l0/r10@10"),
        ("L:c=l11@11", ""),
        ("L:c=l12@12", "b:_/r1@1"),
        ("R:d=r5@5", ""),
        ("R:d=r30@30", "d:_/r5@5 c:l11/_@11 c:l12/_@12"),
    )


def test_unmatched_records_with_equal_timestamps_are_emitted_right_side_first_then_by_key():
    Driven(topology("outer", within(10))).check(
        ("R:z=z@0", ""),
        ("R:a=a@0", ""),
        ("L:a0=a0@0", ""),
        ("L:b=b@0", ""),
        ("L:x=x@50", "a:_/a@0 z:_/z@0 a0:a0/_@0 b:b/_@0"),
    )


@RESTARTS
def test_windows_may_match_only_later_records(restarts):
    Driven(topology("left", within(10, before=0)), restarts=restarts).check(
        ("L:l0@0", ""),
        ("R:r10@10", "l0/r10@10"),
        ("R:r11@11", ""),
        ("L:l5@5", "l5/r10@10 l5/r11@11"),
        ("L:l11@11", "l11/r11@11"),
        ("L:l12@12", ""),
        ("R:z=z@22", ""),
        ("R:z=z@23", "l12/_@12"),
    )


@RESTARTS
def test_an_unmatched_record_that_is_due_may_wait_for_a_later_record_as_in_kafka_streams(restarts):
    """After a scan of the unmatched records, the next scan comes only when the last one seen is due as well."""
    Driven(topology("left", within(10)), restarts=restarts).check(
        ("L:a=a@0", ""),
        ("L:b=b@9", ""),
        ("L:c=c@10", ""),
        ("R:x=x@11", "a:a/_@0"),
        ("R:x=x@20", ""),
        ("R:x=x@21", "b:b/_@9 c:c/_@10"),
    )


def test_the_wall_clock_does_not_release_unmatched_records():
    driven = Driven(topology("left", within(10)))
    driven.check(("L:a=a@0", ""), ("R:x=x@11", "a:a/_@0"))
    driven.driver.advance_wall_clock(timedelta(days=1))
    assert driven.out() == ""
    driven.check(("L:b=b@12", ""), ("R:x=x@23", "b:b/_@12"))


def test_each_record_matches_all_duplicates_by_timestamp_then_arrival():
    Driven(topology("inner", within(10))).check(
        ("L:b@5", ""),
        ("L:a@5", ""),
        ("L:c@4", ""),
        ("R:x@5", "c/x@5 b/x@5 a/x@5"),
        ("R:x@5", "c/x@5 b/x@5 a/x@5"),
    )


def test_unmatched_records_with_the_same_key_and_timestamp_are_emitted_together():
    Driven(topology("left", within(10))).check(
        ("L:a@5", ""), ("L:b@5", ""), ("L:c@6", ""), ("R:z=z@15", ""), ("R:x@16", "a/_@5 b/_@5 c/x@16")
    )


@RESTARTS
def test_in_a_self_join_each_record_matches_itself_once(restarts):
    builder = StreamsBuilder()
    stream = builder.stream("left", value_serde=serdes.String())
    stream.join(stream, pair, within=within(10)).to("out", value_serde=serdes.String())
    Driven(builder.build(), restarts=restarts).check(
        ("L:1@0", "1/1@0"), ("L:2@5", "2/1@5 1/2@5 2/2@5"), ("L:3@2", "3/1@2 3/2@5 1/3@2 3/3@2 2/3@5")
    )


@pytest.mark.parametrize("order", [("L:click@20", "R:ad@10"), ("R:ad@10", "L:click@20")])
@pytest.mark.parametrize("kind", METHODS)
def test_a_click_and_its_ad_join_with_the_later_timestamp_whichever_comes_first(kind, order):
    driven = Driven(topology(kind, within(10)))
    assert [driven(word) for word in order] == ["", "click/ad@20"]


def test_joins_are_the_same_on_spark(runtime):
    """The records are in the order in which those of two topics are processed: by timestamp."""
    words = "L:l0@0 R:r10@10 R:z=x@12 L:_=nk@13 R:_=nk@14 L:l20@20 L:y=y@21 R:z=z@40 L:z=q@45 L:w=w@90"
    outputs, metrics = runtime.run(
        topology("left", within(10, grace=5), name="j"), [parse(word) for word in words.split()]
    )
    assert [f"{r.key}:{r.value}@{r.timestamp_ms}" for r in outputs["out"]] == [
        "k:l0/r10@10",
        "None:nk/_@13",
        "k:l20/r10@20",
        "y:y/_@21",
        "z:q/z@45",
    ]
    assert metrics["j-outer-other-join"] == {"dropped": {"null key": 1}}


def test_changed_keys_are_repartitioned_on_both_sides(runtime):
    builder = StreamsBuilder()
    left, right = (builder.stream(topic).select_key(lambda _, value: value["user"]) for topic in ("left", "right"))
    left.join(right, lambda click, view: [click["n"], view["n"]], within=within(10), name="j").to("out")
    inputs = [
        ("left", "a", {"user": "u", "n": 1}, 5),
        ("right", "b", {"user": "u", "n": 2}, 7),
        ("right", "b", {"user": "w", "n": 3}, 8),
        ("left", "c", {"user": "w", "n": 4}, 18),
    ]
    outputs, _ = runtime.run(builder.build(), inputs)
    assert sorted(outputs["out"], key=lambda record: record.key) == [Record("u", [1, 2], 7), Record("w", [4, 3], 18)]


def test_results_have_the_headers_of_the_record_that_caused_them():
    driven = Driven(topology("left", within(10)))
    driven.driver.input_topic("left").pipe("k", "a", 5, headers=[("n", b"1")])
    driven.driver.input_topic("left").pipe("j", "b", 5, headers=[("n", b"2")])
    driven.driver.input_topic("right").pipe("k", "x", 6, headers=[("n", b"3")])
    driven.driver.input_topic("left").pipe("z", "z", 40, headers=[("n", b"4")])
    driven.driver.input_topic("left").pipe(None, "z", 40, headers=[("n", b"5")])
    assert driven.driver.output_topic("out").read_all() == [
        Record("k", "a/x", 6, (("n", b"3"),)),
        Record("j", "b/_", 5, (("n", b"4"),)),
        Record(None, "z/_", 40, (("n", b"5"),)),
    ]


# Nulls


@pytest.mark.parametrize(
    ("kind", "shown", "dropped"),
    [
        ("inner", "", {"j-this-join": (2, 1), "j-other-join": (2, 1)}),
        ("left", "None:a/_@5", {"j-this-join": (1, 1), "j-outer-other-join": (2, 1)}),
        ("outer", "None:a/_@5 None:_/x@6", {"j-outer-this-join": (1, 1), "j-outer-other-join": (1, 1)}),
    ],
)
def test_null_keys_have_no_match_and_null_values_are_dropped(kind, shown, dropped):
    driven = Driven(topology(kind, within(10), name="j"))
    found = [driven(word) for word in ("L:_=a@5", "R:_=x@6", "L:_@7", "R:_@7", "L:_=_@8", "R:_=_@8")]
    assert " ".join(filter(None, found)) == shown
    metrics = driven.driver.metrics()
    counted = {name: {"dropped": {"null key": keys, "null value": values}} for name, (keys, values) in dropped.items()}
    assert {name: metrics[name] for name in dropped} == counted


def test_records_without_key_or_value_advance_stream_time():
    Driven(topology("left", within(10))).check(
        ("L:a=a@0", ""), ("R:_=x@11", ""), ("R:_@12", ""), ("L:b=b@0", "b:b/_@0"), ("L:c=c@12", "a:a/_@0")
    )


# A clock for each key

TRACKING = {"allow_stream_time_key_tracking": True}


@RESTARTS
def test_with_a_clock_for_each_key_a_key_that_lags_behind_another_loses_nothing(restarts):
    steps = ("L:A=a0@0", "L:A=a5@5", "L:B=b0@0", "R:B=r1@1")
    driven = Driven(topology("left", within(1)), restarts=restarts)
    assert [driven(word) for word in steps] == ["", "A:a0/_@0", "B:b0/_@0", ""]
    driven = Driven(topology("left", within(1)), restarts=restarts, **TRACKING)
    assert [driven(word) for word in steps] == ["", "A:a0/_@0", "", "B:b0/r1@1"]


@RESTARTS
@pytest.mark.parametrize("kind", ["left", "outer"])
def test_with_a_clock_for_each_key_only_records_of_a_key_release_its_unmatched_records(kind, restarts):
    Driven(topology(kind, within(10)), restarts=restarts, **TRACKING).check(
        ("L:a=a@0", ""),
        ("L:b=b@1000", ""),
        ("R:_=x@2000", "" if kind == "left" else "None:_/x@2000"),
        ("L:a=c@10", ""),
        ("R:a=x@11", "a:a/_@0 a:c/x@11"),
        ("R:b=y@1011", "b:b/_@1000"),
        ("R:b=y@1100", "" if kind == "left" else "b:_/y@1011"),
    )


def test_with_a_clock_for_each_key_records_of_both_sides_expire_by_key():
    Driven(topology("inner", within(10)), **TRACKING).check(
        ("L:a=a@0", ""),
        ("L:b=b@86400000", ""),
        ("R:a=x@5", "a:a/x@5"),
        ("L:a=a@19", ""),
        ("R:a=y@5", "a:a/y@5"),
        ("L:a=a@20", ""),
        ("R:a=z@10", "a:a/z@19 a:a/z@20"),
        ("R:a=z@9", "a:a/z@19"),
    )


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize(("name", "table"), [("j", "j"), (None, "KSTREAM-MERGE-0000000006")])
def test_both_sides_advance_the_time_of_a_key_which_can_be_queried(kind, name, table):
    driven = Driven(topology(kind, within(10), name=name), restarts=True, **TRACKING)
    for word in ("L:a=a@5", "R:a=x@9", "L:a=b@3", "R:b=_@7", "L:_=x@8"):
        driven(word)
    assert dict(driven.driver.store(f"{table}-stream-time-table").all()) == {"a": 9, "b": 7}


IDLE = {**TRACKING, "stream_time_key_idle": 50 * MS}


@RESTARTS
def test_unmatched_records_of_an_idle_key_are_emitted_and_the_key_is_evicted(restarts):
    driven = Driven(topology("outer", within(10), store="s", name="j"), restarts=restarts, **IDLE)
    driven.check(("L:a=l@7", ""), ("R:b=r@7", ""), ("R:a=r@30", "a:l/_@7"), ("R:c=r@3", ""), ("L:c=l@4", "c:l/r@4"))
    driven.driver.advance_wall_clock(49 * MS)
    driven.check(("L:z=z@1", ""))
    driven.driver.advance_wall_clock(1 * MS)
    assert driven.out() == "b:_/r@7 a:_/r@30"
    assert [key for key, _ in driven.driver.store("j-stream-time-table").all()] == ["z"]
    for store in ("s-outer-this-join-store", "s-outer-other-join-store"):
        assert {windowed.key for windowed, _ in driven.driver.store(store).all()} <= {"z"}
    driven.check(("R:a=r@5", ""), ("L:c=l@4", ""), ("R:b=r@18", ""))


def test_records_of_either_side_keep_a_key_from_becoming_idle():
    driven = Driven(topology("inner", within(10), store="s"), **IDLE)
    driven("L:a=l@7")
    driven.driver.advance_wall_clock(30 * MS)
    driven("R:a=_@7")
    driven.driver.advance_wall_clock(30 * MS)
    driven.check(("R:a=r@7", "a:l/r@7"))
    driven.driver.advance_wall_clock(50 * MS)
    driven.check(("R:a=r@7", ""))


# Pending records


@pytest.mark.parametrize("tracking", [False, True])
def test_unmatched_records_are_shown_as_pending_and_the_named_record_releases_them(tracking):
    driven = Driven(topology("outer", within(10, grace=2), name="j"), allow_stream_time_key_tracking=tracking)
    assert str(driven.driver.explain_pending("j")[0]) == "j: nothing waits."
    for word in ("L:a=l@7", "L:a=l@7", "R:b=r@6", "L:c=l@9", "R:c=r@9"):
        driven(word)
    driven.driver.restart()
    [pending] = driven.driver.explain_pending()
    key = "b" if tracking else None
    assert (pending.operator, pending.store) == ("j", "KSTREAM-OUTERSHARED-0000000004-store")
    assert pending.tasks == (PendingTask("0_0", 3, "b", 6, 19, key, 6 if tracking else 9),)
    assert str(pending).startswith("j: 3 records wait; the oldest is 'b', held back since 6; it leaves when a record ")
    assert driven.driver.explain_pending(pending.store) == [pending]
    driven.check((f"R:{key or 'z'}=z@18", ""), (f"R:{key or 'z'}=z@19", "b:_/r@6"))


def test_pending_shows_the_later_timestamp_if_a_record_waits_longer_than_window_and_grace():
    driven = Driven(topology("left", within(10), name="j"))
    for word in ("L:a=a@0", "L:b=b@9", "L:c=c@10", "R:x=x@11"):
        driven(word)
    [pending] = driven.driver.explain_pending()
    assert pending.tasks == (PendingTask("0_0", 2, "b", 9, 21, None, 11),)


def test_a_join_and_an_aggregation_with_the_same_name_have_separate_stream_times():
    builder = StreamsBuilder()
    left, right = (builder.stream(topic, value_serde=serdes.String()) for topic in ("left", "right"))
    left.left_join(right, pair, within=within(10), name="n").to("out", value_serde=serdes.String())
    windowed = right.group_by_key().windowed_by(hr.TimeWindows.of(10 * MS))
    windowed.count(name="n").to_stream().to("counts")
    built = builder.build()
    Driven(built, restarts=True).check(("L:a=a@0", ""), ("L:b=b@50", "a:a/_@0"), ("R:b=x@45", "b:b/x@50"))
    with pytest.raises(hr.ConfigError, match="'n' stores the stream times of its keys in 'n-stream-time-table', but "):
        Driven(built, **TRACKING)


def test_inner_joins_hold_nothing_back():
    with TopologyTestDriver(topology("inner", within(10), name="j")) as driver:
        assert driver.explain_pending() == []


# Stores, values, errors


def test_stores_of_both_sides_can_be_queried():
    driven = Driven(topology("left", within(10), store="s"))
    for word in ("L:a=x@5", "L:a=y@5", "R:b=z@6"):
        driven(word)
    shown = [(str(windowed), value) for windowed, value in driven.driver.store("s-this-join-store").all()]
    assert shown == [("[a@5/25]", "x"), ("[a@5/25]", "y")]
    assert list(driven.driver.store("s-outer-other-join-store").fetch("b", 0, 9)) == [(6, "z")]
    waiting = list(driven.driver.store("s-left-shared-join-store").all())
    assert [(row.key, row.value, row.timestamp_ms, row.is_left) for row in waiting] == [
        ("a", "x", 5, True),
        ("a", "y", 5, True),
    ]


def test_each_side_has_its_own_serde():
    builder = StreamsBuilder()
    left = builder.stream("left", value_serde=serdes.String()).map_values(str.upper)
    right = builder.stream("right", value_serde=serdes.Long())
    joined = left.outer_join(right, lambda text, number: [text, number], within=within(10), value_serde=serdes.String())
    joined.to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("left").pipe("k", "a", 1)
        driver.input_topic("right").pipe("k", 7, 2)
        driver.input_topic("right").pipe("j", 8, 3)
        driver.input_topic("left").pipe("i", "b", 4)
        driver.restart()
        driver.input_topic("left").pipe("z", "z", 40)
        found = [(record.key, record.value) for record in driver.output_topic("out").read_all()]
    assert found == [("k", ["A", 7]), ("j", [None, 8]), ("i", ["B", None])]


def test_a_joiner_that_changes_its_arguments_does_not_change_stored_records():
    builder = StreamsBuilder()

    def merged(left, right):
        left.update(right)
        return left

    builder.stream("left").join(builder.stream("right"), merged, within=within(10)).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("right").pipe("k", {"a": 1}, 1)
        driver.input_topic("left").pipe("k", {"l": 0}, 2)
        driver.input_topic("right").pipe("k", {"b": 2}, 3)
        found = [record.value for record in driver.output_topic("out").read_all()]
    assert found == [{"l": 0, "a": 1}, {"l": 0, "b": 2}]


def test_the_error_of_a_failing_joiner_names_the_operator_and_nothing_is_written():
    driven = Driven(topology("inner", within(10), joiner=lambda left, right: left / right, name="j"))
    driven("L:a@5")
    with pytest.raises(hr.ProcessingError, match=r"j-other-join failed on record right-0@0 \(key 'k', timestamp 6\)"):
        driven("R:x@6")
    assert driven.driver.store("KSTREAM-JOINOTHER-0000000005-store").fetch("k", 6) is None


def joined(left="left", right="right", kind="inner", **options):
    builder = StreamsBuilder()
    return getattr(builder.stream(left), METHODS[kind])(builder.stream(right), pair, **options)


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"needs within=: how far apart .* e\.g\. within=JoinWindows\.of\(timedelta\(minutes=5\)\)"),
        ({"within": 10 * MS}, r"was given within=datetime.* of type timedelta; allowed: JoinWindows"),
        ({"within": hr.TimeWindows.of(10 * MS)}, r"of type TimeWindows; allowed: JoinWindows"),
        ({"within": within(1), "name": "a b"}, r"'a b' cannot name a node"),
        ({"within": within(1), "store": ""}, r"'' cannot name a store"),
    ],
)
def test_invalid_joins_are_refused(kind, options, message):
    with pytest.raises(TopologyError, match=message) as refused:
        joined(kind=kind, **options)
    if "name" not in options and "store" not in options:
        assert str(refused.value).startswith(f"{METHODS[kind]}() of <KStream KSTREAM-SOURCE-0000000000> and <KStream ")


@pytest.mark.parametrize("option", ["grace", "key_selector", "foreign_key"])
def test_options_of_other_joins_are_refused(option):
    with pytest.raises(TopologyError, match=rf"was given {option}=.*which does not apply here; it takes .*'within'"):
        joined(within=within(1), **{option: MS if option == "grace" else pair})


def test_windows_are_refused_in_joins_with_tables():
    table_join = Join.of("join", pair, within=within(1))
    with pytest.raises(TopologyError, match=r"join\(\) of a stream and a table was given within=JoinWindows"):
        table_join.allow("a stream and a table", "grace")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"before": -6, "after": 5}, "before is -6 ms, after is 5 ms: the window would end before it starts"),
        ({"grace": -1}, "grace is .*must be at least 0"),
    ],
)
def test_invalid_windows_are_refused(options, message):
    with pytest.raises(TopologyError, match=message):
        within(5, **options)
    with pytest.raises(TopologyError, match=r"difference is .*must be at least 0"):
        within(-1)


def test_two_joins_cannot_have_the_same_name():
    builder = StreamsBuilder()
    left, right = builder.stream("left"), builder.stream("right")
    left.join(right, pair, within=within(1), name="j")
    with pytest.raises(TopologyError, match="already a node named 'j-this-windowed'"):
        left.join(right, pair, within=within(1), name="j")
    with pytest.raises(TopologyError, match="already a store named 's-this-join-store'"):
        [left.join(right, pair, within=within(1), store="s") for _ in "ab"]


@pytest.mark.spark
def test_on_spark_unmatched_records_survive_a_restart_and_can_be_queried(spark, tmp_path):
    runtime = SparkRuntime(spark, tmp_path, partitions=2)
    joined = topology("outer", within(10), name="j", store="s")
    runtime.produce(joined, [parse(word) for word in ("L:a=l@100", "L:b=l@1", "R:c=r@2", "R:b=r@5")])
    first = hr.Streams(joined, runtime.config(**TRACKING), spark=spark)
    first.process_available()
    assert sorted(map(str, runtime.outputs(joined)["out"])) == [str(Record("b", "l/r", 5))]
    [pending] = first.explain_pending()
    assert (pending.operator, pending.waiting, pending.oldest.oldest, pending.oldest.release_ms) == ("j", 2, "c", 13)
    waiting = [(row.key, row.timestamp_ms, row.is_left) for row in first.store("s-outer-shared-join-store").all()]
    assert waiting == [("c", 2, False), ("a", 100, True)]
    assert dict(first.store("j-stream-time-table").all()) == {"a": 100, "b": 5, "c": 2}
    runtime.produce(joined, [parse(word) for word in ("L:c=l@13", "R:a=r@110")])
    second = hr.Streams(joined, runtime.config(**TRACKING), spark=spark)
    second.process_available()
    expected = [Record("a", "l/r", 110), Record("b", "l/r", 5), Record("c", "_/r", 2)]
    assert sorted(map(str, runtime.outputs(joined)["out"])) == sorted(map(str, expected))
    assert second.explain_pending()[0].waiting == 1
