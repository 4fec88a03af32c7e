"""The partitioners of internal topics, and the check that topics that are joined have the same one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes import Node, Sink
from headrace.errors import TopologyError
from headrace.model.routing import StreamPartitioner


@dataclass(frozen=True)
class KeyPartitioner:
    """Calls the partitioner of a foreign-key join with `None` as the value, because values are internal messages."""

    partitioner: StreamPartitioner[Any, None]

    def __call__(self, topic: str, key: Any, value: Any, partitions: int) -> int | Collection[int] | None:  # noqa: ARG002
        return self.partitioner(topic, key, None, partitions)


def internal_rules(nodes: Iterable[Node]) -> dict[str, StreamPartitioner[Any, Any] | None]:
    """The partitioner of every internal topic, by topic; `None` stands for Kafka's default partitioner.

    Relays are left out, because their records stay in their partition.
    """
    return {node.topic: _rule(node) for node in nodes if isinstance(node, Sink) and node.internal and not node.relay}


def partitioner_name(partitioner: object) -> str:
    """The name of a partitioner in messages and in the state log, with its module.

    It is the name of the function or, if `partitioner` is another object, of its class.
    """
    if partitioner is None:
        return "Kafka's default rule"
    named = partitioner if hasattr(partitioner, "__qualname__") else type(partitioner)
    return f"{named.__module__}.{named.__qualname__}"


def refuse_different_rules(operation: str, topics: Iterable[str], nodes: Iterable[Node]) -> None:
    """Raises a `TopologyError` if two internal topics among `topics` have different partitioners.

    `topics` are joined by `operation`, a method such as "join", which the message names. The user's topics among them
    are not checked: only those who write them know how they are partitioned.
    """
    rules = {topic: rule for topic, rule in internal_rules(nodes).items() if topic in set(topics)}
    (first, rule), *others = rules.items() or [("", None)]
    for other, other_rule in others:
        if other_rule != rule:
            message = (
                f"{operation}() needs topics that are partitioned alike, so that equal keys meet in one task: "
                f"{first!r} is partitioned by {partitioner_name(rule)}, {other!r} by {partitioner_name(other_rule)}. "
                "Give both the same one: with repartition(partitioner=...), or with the options partitioner= and "
                "other_partitioner= of a foreign-key join."
            )
            raise TopologyError(message)


def _rule(sink: Sink) -> StreamPartitioner[Any, Any] | None:
    rule = sink.partitioner
    return rule.partitioner if isinstance(rule, KeyPartitioner) else rule
