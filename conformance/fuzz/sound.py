"""Whether a description makes sense: every operator is called on what it may be called on."""

from __future__ import annotations

from conformance.fuzz.description import Kind, Node, has_uneven_windows, kind_of
from conformance.fuzz.functions import REDUCERS

_OF_STREAMS = {"map", "flat_map", "flat_map_values", "flat_map_values_with_key", "select_key", "peek", "split", "merge"}
_OF_TEXT_KEYS = {"repartition", "through", "to_table", "process", "process_values", "group_by_key"}
_OF_BOTH = {"filter", "filter_not", "map_values", "map_values_with_key", "group_by", "to"}


def is_sound(nodes: tuple[Node, ...]) -> bool:
    known: list[Kind] = []
    for node in nodes:
        inputs = [known[number] for number in node.inputs]
        if not _accepts(node, inputs) or (node.op == "suppress" and has_uneven_windows(nodes, node.inputs[0])):
            return False
        known.append(kind_of(node, inputs))
    return any(node.op == "to" for node in nodes)


def _accepts(node: Node, inputs: list[Kind]) -> bool:
    op, options = node.op, node.options
    if not inputs:
        return op in ("stream", "table", "global_table")
    first = inputs[0]
    is_stream = first.shape == "stream"
    if op in _OF_STREAMS:
        return is_stream and all(kind == first for kind in inputs)
    if op in _OF_TEXT_KEYS:
        return is_stream and first.key == "text"
    if op in _OF_BOTH:
        return (is_stream or first.is_table) and (op != "group_by" or is_stream or "mapper" in options)
    match op:
        case "branch":
            return first.shape == "split"
        case "to_stream":
            return first.is_table
        case "transform_values":
            return first.is_table and (options["fn"] == "nil_b" or "store" in options or "history" in options)
        case "suppress":
            return first.is_table and ("limit" in options or first.key == "windowed")
        case "cogroup":
            return all(kind.shape == "grouped stream" for kind in inputs) and len(set(node.inputs)) == len(inputs)
        case "count" | "reduce" | "aggregate":
            of_table = first.shape == "grouped table" and "windows" not in options
            fitting = op != "reduce" or REDUCERS[options["fn"]].kind == first.value
            return (
                (first.shape == "grouped stream" or of_table)
                and fitting
                and ("emit" not in options or "windows" in options)
            )
    return _joinable(node, *inputs)


def _joinable(node: Node, left: Kind, right: Kind) -> bool:
    if left.is_table and node.options["joiner"] == "keyed" and ("store" in node.options or "history" in node.options):
        return False
    if left.key != right.key or (left.key == "windowed" and (not left.is_table or node.op.startswith("foreign_"))):
        return False
    if node.op.startswith("foreign_"):
        return left.is_table and right.is_table
    if left.is_table:
        return right.is_table and "difference" not in node.options
    if left.shape != "stream":
        return False
    if right.shape == "stream":
        return "difference" in node.options
    if node.op == "outer_join" or "difference" in node.options:
        return False
    return (right.shape == "global table" and "fn" in node.options) or (right.is_table and "fn" not in node.options)
