"""A random topology as data: nodes that Java and Python both know how to build, and the records to pipe into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conformance.fuzz.functions import AGGREGATORS, MAPPER_KINDS, REDUCERS

Step = list[Any]

_AGGREGATIONS = {"count", "reduce", "aggregate", "cogroup"}
_SHAPES = {
    "to": "nothing",
    "split": "split",
    "branch": "stream",
    "suppress": "table",
    "to_stream": "stream",
    "to_table": "table",
    "group_by_key": "grouped stream",
}
_TO_TEXT = {"map_values_with_key", "flat_map", "flat_map_values", "flat_map_values_with_key"}
_TO_TEXT |= {"process", "process_values", "transform_values"}
_NEW_KEY = {"map", "flat_map", "select_key", "group_by"}


class Kind(NamedTuple):
    """What a node is, and what its keys and values are.

    Attributes:
        shape: stream, table, versioned table, global table, grouped stream, grouped table, split or nothing.
        key: text or windowed.
        value: text or number.
    """

    shape: str
    key: str = "text"
    value: str = "text"

    @property
    def is_table(self) -> bool:
        return self.shape in ("table", "versioned table")


@dataclass(frozen=True)
class Node:
    """One call of an operator.

    Attributes:
        op: the method, in Python's spelling.
        inputs: positions of the nodes it is called on and with.
        options: its other arguments: functions by name, durations in milliseconds.
    """

    op: str
    inputs: tuple[int, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A topology and its input; `seed` says where it came from."""

    seed: int
    nodes: tuple[Node, ...]
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """As the Java side reads it, with the kind of every node, so that it need not know the rules."""
        described = [
            {
                "op": node.op,
                "in": node.inputs,
                **node.options,
                "shape": kind.shape,
                "key": kind.key,
                "value": kind.value,
            }
            for node, kind in zip(self.nodes, kinds(self.nodes), strict=True)
        ]
        return {"nodes": described, "steps": self.steps}

    @classmethod
    def from_json(cls, seed: int, content: dict[str, Any]) -> Case:
        known = ("op", "in", "shape", "key", "value")
        nodes = [
            Node(n["op"], tuple(n["in"]), {name: value for name, value in n.items() if name not in known})
            for n in content["nodes"]
        ]
        return cls(seed, tuple(nodes), tuple(content["steps"]))

    @property
    def topics(self) -> list[str]:
        """The input topics."""
        return sorted({topic for node in self.nodes for topic in node.options.get("topics", ())})


def kinds(nodes: Iterable[Node]) -> list[Kind]:
    """The kind of every node."""
    known: list[Kind] = []
    for node in nodes:
        known.append(kind_of(node, [known[number] for number in node.inputs]))
    return known


def kind_of(node: Node, inputs: list[Kind]) -> Kind:
    """The kind of what an operator returns, by the kinds it is called on and with."""
    options = node.options
    if not inputs:
        shapes = {"stream": "stream", "global_table": "global table", "table": "table"}
        return Kind("versioned table" if "history" in options else shapes[node.op])
    first = inputs[0]
    if node.op in _AGGREGATIONS:
        return Kind(_table(options), "windowed" if "windows" in options else "text", _aggregated(node))
    if node.op.endswith("join"):
        return Kind(_table(options) if first.is_table else "stream", first.key)
    if node.op in ("map", "map_values", "group_by") and "mapper" in options:
        first = first._replace(value=MAPPER_KINDS[options["mapper"]] or first.value)
    if node.op in _SHAPES:
        first = first._replace(shape=_SHAPES[node.op])
    if node.op == "group_by":
        first = first._replace(shape="grouped table" if first.is_table else "grouped stream")
    if node.op in _TO_TEXT:
        first = first._replace(value="text")
    if node.op in _NEW_KEY or (node.op == "to_stream" and "fn" in options):
        first = first._replace(key="text")
    return first._replace(shape=_table(options)) if "store" in options or "history" in options else first


def has_uneven_windows(nodes: Sequence[Node], number: int) -> bool:
    """Whether a node has keys of windows of different lengths."""
    node = nodes[number]
    return "rest" in node.options.get("windows", {}) or any(has_uneven_windows(nodes, given) for given in node.inputs)


def _table(options: dict[str, Any]) -> str:
    return "versioned table" if "history" in options else "table"


def _aggregated(node: Node) -> str:
    if node.op == "count":
        return "number"
    name = node.options["fn"]
    return REDUCERS[name].kind if node.op == "reduce" else AGGREGATORS[name].kind
