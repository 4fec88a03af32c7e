"""Known differences: each has a reason, and a test that recognises it and nothing else.

Most are recognised by a second run in which one side follows the rule of the other. If both then write the same
records, the difference is that rule. All are on purpose and listed in `conformance/deviations.md`: a mended defect has
no reason here, so that it is reported if it comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from conformance.fuzz.compare import differing_parts, equal
from conformance.fuzz.description import Case, Node
from conformance.fuzz.run import Answer, on_driver

if TYPE_CHECKING:
    from conformance.fuzz.kafka_streams import KafkaStreams

# Rules that Kafka Streams can be made to follow (the recorder's `fuzz/Rules.java`), and the operators they change.
OUR_RULES = {
    "first-change-replaces-nothing": {"count", "aggregate", "cogroup", "reduce"},
    "no-window-is-lost": {"count", "reduce", "aggregate", "cogroup"},
    "suppress-sends-what-it-emitted": {"suppress"},
    "merge-takes-a-stream-twice": {"merge"},
    "empty-rows-are-rows": {"foreign_join", "foreign_left_join"},
}

# Rules that the library can be made to follow, by `build.topology_of`: ties between internal topics.
THEIR_RULES = {
    "grouped-topics-come-first": {"group_by"},
    "grouped-topics-come-in-reverse": {"group_by"},
}

# Topologies that Kafka Streams cannot build, by a part of its message.
THEIR_REFUSALS = {
    "-repartition-filter is already added": "a grouped stream is aggregated and cogrouped",
    "KTable source state store must implement": "a windowed cogroup is joined with a table",
    "is not added yet": "a shared repartition is built after a store that depends on it",
}

# Topologies that the library refuses on purpose, by a part of its message.
OUR_REFUSALS = {"which never close": "unlimited windows that are suppressed until they close"}

_SEVERAL_CHANGES = {"flat_map", "flat_map_values", "process", "process_values", "merge", "group_by"}
_SEVERAL_CHANGES |= {"join", "left_join", "outer_join", "foreign_join", "foreign_left_join"}


def reason_for(case: Case, ours: Answer, theirs: Answer, kafka: KafkaStreams) -> str | None:
    """Why the answers differ, if that is known."""
    if "refused" in theirs and "refused" not in ours:
        return _refusal("Kafka Streams", theirs["refused"], THEIR_REFUSALS)
    if "refused" in ours:
        return None if "refused" in theirs else _refusal("Headrace", ours["refused"], OUR_REFUSALS)
    for rules in _combinations(case, OUR_RULES | THEIR_RULES):
        follows = on_driver(case, *(rule for rule in rules if rule in THEIR_RULES))
        if equal(follows, kafka.run(case, *(rule for rule in rules if rule in OUR_RULES))):
            return " and ".join(rules)
    if _joins_closed_windows(case, ours, theirs, kafka):
        return "a join finds rows of closed windows that Kafka Streams has just forgotten"
    return _other_reason(case, ours, theirs)


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
    ops = {node.op for node in case.nodes}
    applicable = [rule for rule, changed in known.items() if ops & changed]
    for number in range(1, min(3, len(applicable)) + 1):
        yield from combinations(applicable, number)


def _refusal(who: str, message: str, known: dict[str, str]) -> str | None:
    return next((f"{who} refuses: {why}" for text, why in known.items() if text in message), None)


def _other_reason(case: Case, ours: Answer, theirs: Answer) -> str | None:
    """Reasons that no rule can show, by where the answers differ."""
    if "key cannot be null" in theirs.get("message", "") and any("grace" in node.options for node in case.nodes):
        return "Kafka Streams fails on a record without a key in a left join with grace"
    parts = differing_parts(ours, theirs)
    held_back = {number for number, node in enumerate(case.nodes) if node.op == "suppress"}
    if parts <= _parts_behind(case, held_back) and equal(_without_deletions(ours), _without_deletions(theirs)):
        return "a join behind suppress deletes no rows that were never let through"
    foreign = {
        number
        for number, node in enumerate(case.nodes)
        if node.op == "foreign_join" and _changes_several_times(case, node.inputs[0])
    }
    if parts <= _parts_behind(case, foreign):
        return "an inner foreign-key join deletes the result of a row that one record changes twice"
    reunions = {number for number, node in enumerate(case.nodes) if _meets_itself(case, node)}
    if parts <= _parts_behind(case, reunions) and _last_rows(ours) == _last_rows(theirs):
        return "a tie between internal topics that one record is sent to"
    self_joins = {number for number in reunions if case.nodes[number].op.endswith("join")}
    held_back &= {number for number in held_back if _ancestors(case, number) & self_joins}
    if parts <= _parts_behind(case, held_back):
        return "suppress behind a table that is joined with itself, whose second change replaces what was never there"
    return None


def _meets_itself(case: Case, node: Node) -> bool:
    """Whether records of one topic reach a node by two ways, so that one record may arrive there twice."""
    if len(node.inputs) < 2:
        return False
    one, other = ({topic for n in _ancestors(case, i) for topic in _topics(case, n)} for i in node.inputs[:2])
    return bool(one & other)


def _topics(case: Case, number: int) -> list[str]:
    found: list[str] = case.nodes[number].options.get("topics", [])
    return found


def _last_rows(answer: Answer) -> dict[str, dict[str, Any]]:
    """The last value that each topic has for each key: what does not depend on the order of changes."""
    return {
        topic: {str(key): value for key, value, _ in written if value is not None}
        for topic, written in answer["outputs"].items()
    }


def _joins_closed_windows(case: Case, ours: Answer, theirs: Answer, kafka: KafkaStreams) -> bool:
    """Whether Kafka Streams writes less, and at least as much once its windows are retained for longer."""
    final = {number for number, node in enumerate(case.nodes) if node.options.get("emit") == "close"}
    joins = {
        number
        for number, node in enumerate(case.nodes)
        if node.op.endswith("join") and any(_ancestors(case, table) & final for table in node.inputs)
    }
    parts = differing_parts(ours, theirs)
    if not joins or not parts <= _parts_behind(case, joins) or not all(part in ours["outputs"] for part in parts):
        return False
    retaining = kafka.run(case, "no-window-is-lost")
    return all(
        _is_subsequence(theirs["outputs"].get(part, []), ours["outputs"][part])
        and _is_subsequence(ours["outputs"][part], retaining.get("outputs", {}).get(part, []))
        for part in parts
    )


def _is_subsequence(some: list[Any], records: list[Any]) -> bool:
    remaining = iter(records)
    return all(record in remaining for record in some)


def _without_deletions(answer: Answer) -> Answer:
    outputs = {topic: [one for one in written if one[1] is not None] for topic, written in answer["outputs"].items()}
    return {**answer, "outputs": outputs}


def _changes_several_times(case: Case, table: int) -> bool:
    """Whether one input record may change a row of a table more than once."""
    return any(case.nodes[number].op in _SEVERAL_CHANGES for number in _ancestors(case, table))


def _ancestors(case: Case, number: int) -> set[int]:
    return {number}.union(*(_ancestors(case, given) for given in case.nodes[number].inputs))


def _parts_behind(case: Case, numbers: set[int]) -> set[str]:
    """Output topics and stores of the nodes and of what follows from them."""
    behind = {number for number in range(len(case.nodes)) if _ancestors(case, number) & numbers}
    return {name for number in behind for name in (f"out{number}", f"s{number}")}
