"""The rules by which the fuzzer explains a difference: what each side writes when it follows a rule of the other."""

from __future__ import annotations

from conformance.fuzz.build import topology_of
from conformance.fuzz.description import Case, Node
from conformance.fuzz.order import topic_order
from conformance.fuzz.run import on_driver


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


def test_a_deletion_of_the_only_version_is_forgotten_only_by_kafkas_rule():
    joined = case(
        ("table", (), {"topics": ["t"], "history": 100}),
        ("stream", (), {"topics": ["a"]}),
        ("left_join", (1, 0), {"joiner": "pair"}),
        ("to", (2,), {}),
        steps=[["t", "k", "y", 5], ["t", "k", None, 5], ["t", "k", "x", 1], ["a", "k", "s", 9]],
    )
    assert on_driver(joined)["outputs"] == {"out3": [["k", "(s,_)", 9]]}
    forgotten = on_driver(joined, "deletions-of-only-versions-are-forgotten")
    assert forgotten["outputs"] == {"out3": [["k", "(s,x)", 9]]}
