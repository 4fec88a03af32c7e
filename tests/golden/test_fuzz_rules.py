"""The rules by which the fuzzer explains a difference: what each side writes when it follows a rule of the other."""

from __future__ import annotations

import pytest

from conformance.fuzz.build import topology_of
from conformance.fuzz.classify import reason_for
from conformance.fuzz.description import Case, Node
from conformance.fuzz.order import topic_order
from conformance.fuzz.run import on_driver
from conformance.fuzz.sample import load


def case(*nodes, steps=()):
    return Case(0, tuple(Node(op, inputs, options) for op, inputs, options in nodes), tuple(steps))


FOREIGN_KEY_JOIN_OF_ROWS_THAT_CHANGE_TWICE = case(
    ("stream", (), {"topics": ["a"]}),
    ("flat_map_values", (0,), {"fn": "twice"}),
    ("to_table", (1,), {}),
    ("table", (), {"topics": ["t"]}),
    ("foreign_join", (2, 3), {"joiner": "pair", "fn": "head"}),
    ("to", (4,), {}),
    steps=[["t", "b", "B", 1], ["a", "x", "b", 2], ["a", "x", "c", 3]],
)

SUPPRESSED_COUNTS_BY_COUNT = case(
    ("stream", (), {"topics": ["a"]}),
    ("group_by_key", (0,), {}),
    ("count", (1,), {}),
    ("suppress", (2,), {"limit": 10}),
    ("group_by", (3,), {"fn": "all", "mapper": "shout"}),
    ("aggregate", (4,), {"fn": "append"}),
    ("to", (5,), {}),
    steps=[["a", "k", "x", time_ms] for time_ms in (0, 1, 20, 21, 40)],
)


def test_a_deletion_by_foreign_key_is_lost_only_by_kafkas_rule():
    deleted = on_driver(FOREIGN_KEY_JOIN_OF_ROWS_THAT_CHANGE_TWICE)
    lost = on_driver(FOREIGN_KEY_JOIN_OF_ROWS_THAT_CHANGE_TWICE, "deletions-by-foreign-key-may-be-lost")
    assert deleted["outputs"] == {"out5": [["x", "(b2,B)", 2], ["x", None, 3]]}
    assert lost["outputs"] == {"out5": [["x", "(b2,B)", 2]]}


def test_suppress_sends_an_old_value_that_was_never_emitted_only_by_kafkas_rule():
    ours = on_driver(SUPPRESSED_COUNTS_BY_COUNT)
    theirs = on_driver(SUPPRESSED_COUNTS_BY_COUNT, "suppress-sends-what-its-last-update-replaced")
    assert ours["outputs"] == {"out6": [["all", "3!", 20], ["all", "3!-3!5!", 40]]}
    assert theirs["outputs"] == {"out6": [["all", "3!", 20], ["all", "3!-4!5!", 40]]}


def test_rules_end_with_the_run():
    on_driver(SUPPRESSED_COUNTS_BY_COUNT, "suppress-sends-what-its-last-update-replaced")
    test_suppress_sends_an_old_value_that_was_never_emitted_only_by_kafkas_rule()


def test_the_order_of_internal_topics_is_by_stage_and_then_by_name():
    topology = topology_of(
        case(
            ("stream", (), {"topics": ["a"]}),
            ("group_by", (0,), {"fn": "all"}),
            ("count", (1,), {}),
            ("group_by", (2,), {"fn": "head", "mapper": "same"}),
            ("count", (3,), {}),
            ("group_by", (0,), {"fn": "head"}),
            ("count", (5,), {}),
            ("join", (4, 6), {"joiner": "pair"}),
            ("to", (7,), {}),
        )
    )
    assert topic_order(topology) == {"g1-repartition/0": [1, 0], "g3-repartition/0": [2, 2], "g5-repartition/0": [2, 1]}


def joined_with_versions(*rows):
    return case(
        ("table", (), {"topics": ["t"], "history": 100}),
        ("stream", (), {"topics": ["a"]}),
        ("left_join", (1, 0), {"joiner": "pair"}),
        ("to", (2,), {}),
        steps=[*(["t", "k", *row] for row in rows), ["a", "k", "s", 9]],
    )


@pytest.mark.parametrize("before", [(), ((None, 0),)])
def test_a_deletion_of_the_first_version_is_forgotten_only_by_kafkas_rule(before):
    joined = joined_with_versions(*before, ("y", 5), (None, 5), ("x", 1))
    assert on_driver(joined)["outputs"] == {"out3": [["k", "(s,_)", 9]]}
    forgotten = on_driver(joined, "deletions-of-first-versions-are-forgotten")
    assert forgotten["outputs"] == {"out3": [["k", "(s,x)", 9]]}


@pytest.mark.parametrize("before", [(("w", 0),), ((None, 5),), (("y", 5), (None, 0))])
def test_a_deletion_of_another_version_is_not_forgotten_by_kafkas_rule_either(before):
    joined = joined_with_versions(*before, ("y", 5), (None, 5), ("x", 1))
    assert on_driver(joined)["outputs"] == {"out3": [["k", "(s,_)", 9]]}
    assert on_driver(joined, "deletions-of-first-versions-are-forgotten") == on_driver(joined)


EVEN_COUNTS = case(
    ("stream", (), {"topics": ["a"]}),
    ("group_by_key", (0,), {}),
    ("count", (1,), {"windows": {"type": "sliding", "difference": 10, "grace": 0}}),
    ("filter_not", (2,), {"fn": "is_odd_number"}),
    ("to", (3,), {}),
    steps=[["a", "k", "x", 15], ["a", "k", "y", 20]],
)


def test_the_first_change_of_a_sliding_window_replaces_what_it_began_with_only_by_kafkas_rule():
    theirs = on_driver(EVEN_COUNTS, "first-change-replaces-the-initial-value")
    assert on_driver(EVEN_COUNTS)["outputs"] == {"out4": [["[k@10/20]", 2, 20]]}
    assert theirs["outputs"] == {
        "out4": [["[k@5/15]", None, 15], ["[k@16/26]", None, 20], ["[k@10/20]", 2, 20]],
    }


@pytest.mark.parametrize("windows", [None, {"type": "time", "size": 10, "grace": 0}])
def test_the_first_change_of_a_key_or_a_time_window_replaces_the_initial_value_only_by_kafkas_rule(windows):
    counted = case(
        ("stream", (), {"topics": ["a"]}),
        ("group_by_key", (0,), {}),
        ("count", (1,), {} if windows is None else {"windows": windows}),
        ("filter_not", (2,), {"fn": "is_odd_number"}),
        ("to", (3,), {}),
        steps=[["a", "k", "x", 15], ["a", "k", "y", 16]],
    )
    key = "k" if windows is None else "[k@10/20]"
    assert on_driver(counted)["outputs"] == {"out4": [[key, 2, 16]]}
    theirs = on_driver(counted, "first-change-replaces-the-initial-value")
    assert theirs["outputs"] == {"out4": [[key, None, 15], [key, 2, 16]]}


def final_counts(windows, *steps):
    return case(
        ("stream", (), {"topics": ["a"]}),
        ("group_by_key", (0,), {}),
        ("count", (1,), {"windows": windows, "emit": "close"}),
        ("left_join", (2, 2), {"joiner": "pair"}),
        ("to", (3,), {}),
        steps=[["a", "k", "x", time_ms] for time_ms in steps],
    )


@pytest.mark.parametrize(
    ("counts", "ours", "theirs"),
    [
        (
            final_counts({"type": "session", "gap": 8, "grace": 2}, 11, 79),
            [["[k@11/11]", "(1,1)", 11], ["[k@11/11]", "(1,1)", 11]],
            [["[k@11/11]", "(1,_)", 11]],
        ),
        (
            final_counts({"type": "time", "size": 10, "grace": 0}, 11, 20, 50),
            [
                ["[k@10/20]", "(1,1)", 11],
                ["[k@10/20]", "(1,1)", 11],
                ["[k@20/30]", "(1,1)", 20],
                ["[k@20/30]", "(1,1)", 20],
            ],
            [["[k@10/20]", "(1,1)", 11], ["[k@10/20]", "(1,1)", 11]],
        ),
        (
            final_counts({"type": "sliding", "difference": 5, "grace": 0}, 11, 21, 60),
            [
                ["[k@6/11]", "(1,1)", 11],
                ["[k@6/11]", "(1,1)", 11],
                ["[k@16/21]", "(1,1)", 21],
                ["[k@16/21]", "(1,1)", 21],
            ],
            [["[k@6/11]", "(1,1)", 11], ["[k@6/11]", "(1,1)", 11]],
        ),
    ],
)
def test_final_results_are_looked_up_after_the_record_that_closes_their_window_only_by_kafkas_rule(
    counts, ours, theirs
):
    """The time windows and the sliding windows begin a retention before: their rows expire a millisecond later."""
    found = on_driver(counts, "final-results-are-read-after-the-record-is-stored")
    assert on_driver(counts)["outputs"] == {"out4": ours}
    assert found["outputs"] == {"out4": theirs}


TICKS_BY_STREAM_TIME_BEHIND_A_REPARTITION = case(
    ("stream", (), {"topics": ["b"]}),
    ("filter", (0,), {"fn": "has_a"}),
    ("map", (0,), {"fn": "head", "mapper": "shout"}),
    ("left_join", (2, 1), {"joiner": "pair", "difference": 3}),
    ("process", (3,), {"fn": "tick_stream", "interval": 5}),
    ("to", (4,), {}),
    steps=[["b", "b", "cb9", 118], ["b", "b", "d10", 148]],
)

TICKS_BY_WALL_CLOCK_BEHIND_A_REPARTITION = case(
    ("stream", (), {"topics": ["a"]}),
    ("process", (0,), {"fn": "tick_wall", "interval": 23}),
    ("join", (1, 1), {"joiner": "pair", "difference": 10}),
    ("process", (2,), {"fn": "tick_wall", "interval": 5}),
    ("to", (3,), {}),
    steps=[["@advance", 37]],
)


@pytest.mark.parametrize(
    ("ticks", "ours", "theirs"),
    [
        (TICKS_BY_STREAM_TIME_BEHIND_A_REPARTITION, {"out5": [["c", "_(cb9!,_)@148", 148]]}, {"out5": []}),
        (
            TICKS_BY_WALL_CLOCK_BEHIND_A_REPARTITION,
            {"out4": [["tick", "(37,37)", 37], ["tick", "37", 37]]},
            {"out4": [["tick", "37", 37], ["tick", "(37,37)", 37]]},
        ),
    ],
)
def test_punctuation_comes_before_the_records_behind_a_repartition_only_if_all_is_one_task(ticks, ours, theirs):
    assert on_driver(ticks)["outputs"] == ours
    assert on_driver(ticks, "sub-topologies-are-one-task")["outputs"] == theirs


def test_one_task_writes_the_same_as_several_if_nothing_is_due():
    scheduled = {"tick_stream", "tick_wall", "flush_wall"}
    unscheduled = [
        recorded.case
        for recorded in load()
        if not any(node.options.get("fn") in scheduled for node in recorded.case.nodes)
    ][::4]
    one = {case.seed: on_driver(case, "sub-topologies-are-one-task") for case in unscheduled}
    assert one == {case.seed: on_driver(case) for case in unscheduled}


class Answering:
    """Answers with what was recorded, whatever the rules."""

    def __init__(self, answer):
        self._answer = answer

    def run(self, *_):
        return self._answer


def test_a_difference_has_a_reason_only_if_both_sides_write_the_same_by_a_rule():
    ours, rule = on_driver(EVEN_COUNTS), "first-change-replaces-the-initial-value"
    theirs = on_driver(EVEN_COUNTS, rule)
    assert reason_for(EVEN_COUNTS, ours, theirs, Answering(theirs)) == rule
    [(topic, records)] = theirs["outputs"].items()
    for other in (records[1:], records[:-1], [*records, records[0]]):
        almost = {**theirs, "outputs": {topic: other}}
        assert reason_for(EVEN_COUNTS, ours, almost, Answering(almost)) is None
