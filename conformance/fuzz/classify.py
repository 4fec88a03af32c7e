"""Known differences and their reasons.

A reason is proved by a second run in which one side, or both, follow rules of the other: if both then write the same
records, the difference is these rules. Only refusals, and a record on which Kafka Streams fails, are recognised by a
message. All differences are on purpose and listed in `conformance/deviations.md`: a mended defect has no reason here,
so that it is reported if it comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from conformance.fuzz.compare import equal
from conformance.fuzz.description import Case
from conformance.fuzz.kafka_streams import IN_OUR_ORDER
from conformance.fuzz.run import Answer, on_driver

if TYPE_CHECKING:
    from conformance.fuzz.kafka_streams import KafkaStreams

_JOINS = {"join", "left_join", "outer_join", "foreign_join", "foreign_left_join"}

# Rules that Kafka Streams can be made to follow (the recorder's `fuzz/Rules.java`), and the operators they change.
OUR_RULES = {
    "first-change-replaces-nothing": {"count", "aggregate", "cogroup", "reduce"},
    "windowed-cogroups-send-old-values": {"cogroup"},
    "no-window-is-lost": {"count", "reduce", "aggregate", "cogroup"},
    "suppress-sends-what-it-emitted": {"suppress"},
    "merge-takes-a-stream-twice": {"merge"},
    "empty-rows-are-rows": {"foreign_join", "foreign_left_join"},
    "transformed-rows-are-stored": {"transform_values"},
    IN_OUR_ORDER: {"repartition", "to_table", "group_by", "group_by_key"} | _JOINS,
}

# Rules that the library can be made to follow, by `their_rules`, and the operators or options they change.
THEIR_RULES = {
    "suppress-sends-what-its-last-update-replaced": {"suppress"},
    "deletions-by-foreign-key-may-be-lost": {"foreign_join"},
    "deletions-of-first-versions-are-forgotten": {"history"},
    "first-change-replaces-the-initial-value": {"count", "reduce", "aggregate", "cogroup"},
    "final-results-are-read-after-the-record-is-stored": {"emit"},
    "sub-topologies-are-one-task": {"tick_stream", "tick_wall", "flush_wall"},
}

# Topologies that Kafka Streams cannot build, by a part of its message.
THEIR_REFUSALS = {
    "-repartition-filter is already added": "a grouped stream is aggregated and cogrouped",
    "KTable source state store must implement": "a windowed cogroup is joined with a table",
    "is not added yet": "a shared repartition is built after a store that depends on it",
}

# Topologies that the library refuses on purpose, by a part of its message.
OUR_REFUSALS = {"which never close": "unlimited windows that are suppressed until they close"}

_NULL_KEY = "Kafka Streams fails on a record without a key in a left join with grace"

_MOST_RULES = 4


def reason_for(case: Case, ours: Answer, theirs: Answer, kafka: KafkaStreams) -> str | None:
    """Why the answers differ, if that is known."""
    if "refused" in theirs and "refused" not in ours:
        return _refusal("Kafka Streams", theirs["refused"], THEIR_REFUSALS)
    if "refused" in ours:
        return None if "refused" in theirs else _refusal("Headrace", ours["refused"], OUR_REFUSALS)
    if "key cannot be null" in theirs.get("message", "") and any("grace" in node.options for node in case.nodes):
        return _without_null_key(case, theirs["failed"], kafka)
    follows: dict[tuple[str, ...], Answer] = {(): ours}
    made_to_follow: dict[tuple[str, ...], Answer] = {(): theirs}
    for rules in _combinations(case, OUR_RULES | THEIR_RULES):
        our_rules = tuple(rule for rule in rules if rule in OUR_RULES)
        their_rules = tuple(rule for rule in rules if rule in THEIR_RULES)
        if their_rules not in follows:
            follows[their_rules] = on_driver(case, *their_rules)
        if our_rules not in made_to_follow:
            made_to_follow[our_rules] = kafka.run(case, *our_rules)
        if equal(follows[their_rules], made_to_follow[our_rules]):
            return " and ".join(rules)
    return None


def rules_between(case: Case, ours: Answer, theirs: Answer, kafka: KafkaStreams) -> tuple[str, ...] | None:
    """The rules of the library that Kafka Streams must follow to write the same: `()` if they agree without any.

    Returns `None` if no rules make them agree, or if either side refuses the case.
    """
    if "outputs" not in ours or "outputs" not in theirs:
        return None
    if equal(ours, theirs):
        return ()
    return next((rules for rules in _combinations(case, OUR_RULES) if equal(ours, kafka.run(case, *rules))), None)


def _combinations(case: Case, known: dict[str, set[str]]) -> Iterator[tuple[str, ...]]:
    used = {name for node in case.nodes for name in (node.op, node.options.get("fn"), *node.options)}
    applicable = [rule for rule, changed in known.items() if used & changed]
    for number in range(1, min(_MOST_RULES, len(applicable)) + 1):
        yield from combinations(applicable, number)


def _refusal(who: str, message: str, known: dict[str, str]) -> str | None:
    return next((f"{who} refuses: {why}" for text, why in known.items() if text in message), None)


def _without_null_key(case: Case, failed: int, kafka: KafkaStreams) -> str | None:
    """The reason if Kafka Streams fails on a record without a key, and nothing else is unexplained without it."""
    rest = replace(case, steps=case.steps[:failed] + case.steps[failed + 1 :])
    ours, theirs = on_driver(rest), kafka.run(rest)
    if equal(ours, theirs):
        return _NULL_KEY
    reason = reason_for(rest, ours, theirs, kafka)
    return reason if reason is None or _NULL_KEY in reason else f"{reason} and {_NULL_KEY}"
