"""Known differences: each has a reason, and a function that recognises it.

Nearly all are recognised by a second run in which one side follows rules of the other. If both then write the same
records, the difference is these rules. All are on purpose and listed in `conformance/deviations.md`: a mended defect
has no reason here, so that it is reported if it comes back.

Two reasons are only bounds, behind which a defect could hide: joins of closed windows, and deletions behind joins of
sliding windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from conformance.fuzz.compare import differing_parts, equal
from conformance.fuzz.description import Case, output_topics
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
    "deletions-of-only-versions-are-forgotten": {"history"},
}

# Topologies that Kafka Streams cannot build, by a part of its message.
THEIR_REFUSALS = {
    "-repartition-filter is already added": "a grouped stream is aggregated and cogrouped",
    "KTable source state store must implement": "a windowed cogroup is joined with a table",
    "is not added yet": "a shared repartition is built after a store that depends on it",
}

# Topologies that the library refuses on purpose, by a part of its message.
OUR_REFUSALS = {"which never close": "unlimited windows that are suppressed until they close"}

_MOST_RULES = 4


def reason_for(case: Case, ours: Answer, theirs: Answer, kafka: KafkaStreams) -> str | None:
    """Why the answers differ, if that is known."""
    if "refused" in theirs and "refused" not in ours:
        return _refusal("Kafka Streams", theirs["refused"], THEIR_REFUSALS)
    if "refused" in ours:
        return None if "refused" in theirs else _refusal("Headrace", ours["refused"], OUR_REFUSALS)
    if "key cannot be null" in theirs.get("message", "") and any("grace" in node.options for node in case.nodes):
        return _until_null_key(case, theirs["failed"], kafka)
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
    if _joins_closed_windows(case, ours, theirs, kafka):
        return "a join finds rows of closed windows that Kafka Streams has just forgotten"
    if _deletes_rows_that_were_never_there(case, ours, theirs):
        return "a join of sliding windows deletes rows that were never there"
    return None


def rules_between(case: Case, ours: Answer, theirs: Answer, kafka: KafkaStreams) -> tuple[str, ...] | None:
    """The rules with which Kafka Streams writes what the library writes: none if they agree at once.

    Returns `None` if there are none such, or either side refuses the case.
    """
    if "outputs" not in ours or "outputs" not in theirs:
        return None
    if equal(ours, theirs):
        return ()
    return next((rules for rules in _combinations(case, OUR_RULES) if equal(ours, kafka.run(case, *rules))), None)


def _combinations(case: Case, known: dict[str, set[str]]) -> Iterator[tuple[str, ...]]:
    used = {name for node in case.nodes for name in (node.op, *node.options)}
    applicable = [rule for rule, changed in known.items() if used & changed]
    for number in range(1, min(_MOST_RULES, len(applicable)) + 1):
        yield from combinations(applicable, number)


def _refusal(who: str, message: str, known: dict[str, str]) -> str | None:
    return next((f"{who} refuses: {why}" for text, why in known.items() if text in message), None)


def _until_null_key(case: Case, failed: int, kafka: KafkaStreams) -> str | None:
    """The reason if Kafka Streams fails on a record without a key, and what comes before it is explained."""
    why = "Kafka Streams fails on a record without a key in a left join with grace"
    before = replace(case, steps=case.steps[:failed])
    ours, theirs = on_driver(before), kafka.run(before)
    if equal(ours, theirs):
        return why
    reason = reason_for(before, ours, theirs, kafka)
    return reason and f"{reason} and {why}"


def _joins_closed_windows(case: Case, ours: Answer, theirs: Answer, kafka: KafkaStreams) -> bool:
    """Whether Kafka Streams writes less, and at least as much once it retains windows, or final results, for longer."""
    final = {number for number, node in enumerate(case.nodes) if node.options.get("emit") == "close"}
    joins = {
        number
        for number, node in enumerate(case.nodes)
        if node.op.endswith("join") and any(_ancestors(case, table) & final for table in node.inputs)
    }
    parts = differing_parts(ours, theirs)
    if not parts & _parts_behind(case, joins) or not all(part in ours["outputs"] for part in parts):
        return False
    for rule in ("no-window-is-lost", "final-results-are-remembered"):
        retaining = kafka.run(case, rule).get("outputs", {})
        if all(
            _is_between(ours["outputs"][part], theirs["outputs"].get(part, []), retaining.get(part, []))
            if part in _parts_behind(case, joins)
            else ours["outputs"][part] == retaining.get(part)
            for part in parts
        ):
            return True
    return False


def _is_between(ours: list[Any], fewest: list[Any], most: list[Any]) -> bool:
    """Whether records are some more than the fewest, and some of the most.

    An outer join has a result also for a row that it does not find: then each record is one of either.
    """
    if _is_subsequence(fewest, ours):
        return _is_subsequence(ours, most)
    keys = [key for key, _, _ in ours]
    return all(record in fewest or record in most for record in ours) and all(key in keys for key, _, _ in fewest)


def _deletes_rows_that_were_never_there(case: Case, ours: Answer, theirs: Answer) -> bool:
    """Whether answers differ by such deletions behind joins of sliding windows, whose first change has an old value."""
    sliding = {n for n, node in enumerate(case.nodes) if node.options.get("windows", {}).get("type") == "sliding"}
    joins = {n for n, node in enumerate(case.nodes) if node.op.endswith("join") and _ancestors(case, n) & sliding}
    if not differing_parts(ours, theirs) <= _parts_behind(case, joins):
        return False
    return equal(_without_empty_deletions(ours), _without_empty_deletions(theirs))


def _without_empty_deletions(answer: Answer) -> Answer:
    outputs = {}
    for topic, records in answer["outputs"].items():
        values: dict[str, Any] = {}
        outputs[topic] = []
        for key, value, time_ms in records:
            if value is not None or values.get(str(key)) is not None:
                outputs[topic].append([key, value, time_ms])
            values[str(key)] = value
    return {**answer, "outputs": outputs}


def _is_subsequence(some: list[Any], records: list[Any]) -> bool:
    remaining = iter(records)
    return all(record in remaining for record in some)


def _ancestors(case: Case, number: int) -> set[int]:
    return {number}.union(*(_ancestors(case, given) for given in case.nodes[number].inputs))


def _parts_behind(case: Case, numbers: set[int]) -> set[str]:
    """Output topics and stores of the nodes and of what follows from them."""
    behind = {number for number in range(len(case.nodes)) if _ancestors(case, number) & numbers}
    return {name for n in behind for name in (*output_topics(case.nodes[n], n), f"s{n}")}
