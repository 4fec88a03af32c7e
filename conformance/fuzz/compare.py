"""Compares two answers, and shrinks a case to the few lines that still make them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from conformance.fuzz.description import Case, Node
from conformance.fuzz.run import Answer
from conformance.fuzz.sound import is_sound


def equal(ours: Answer, theirs: Answer) -> bool:
    """Whether both refuse, or both write the same, and if they fail, at the same step; messages may differ.

    The contents of stores are compared if both show them.
    """
    if "gave up" in ours or "gave up" in theirs:
        return False
    if "refused" in ours or "refused" in theirs:
        return ("refused" in ours) == ("refused" in theirs)
    parts = ["outputs", "failed", *(["stores"] if "stores" in ours and "stores" in theirs else [])]
    return all(ours.get(part) == theirs.get(part) for part in parts)


def shrink(case: Case, differs: Callable[[Case], bool], tries: int = 400) -> Case:
    """The smallest case found that still differs: with fewer steps, fewer nodes and fewer options."""
    while tries > 0:
        for candidate in _smaller(case):
            tries -= 1
            if tries <= 0:
                break
            if differs(candidate):
                case = candidate
                break
        else:
            return case
    return case


def _smaller(case: Case) -> Iterator[Case]:
    half = len(case.steps) // 2
    while half >= 1:
        for start in range(0, len(case.steps), half):
            kept = case.steps[:start] + case.steps[start + half :]
            if kept:
                yield replace(case, steps=kept)
        half //= 2
    for number in reversed(range(len(case.nodes))):
        yield from _without_node(case, number)
    for number, node in enumerate(case.nodes):
        for option in ("store", "emit", "grace", "before", "after", "max_records", "windows", "history"):
            if option in node.options:
                options = {name: value for name, value in node.options.items() if name != option}
                yield from _checked(case, _with(case.nodes, number, replace(node, options=options)))


def _without_node(case: Case, number: int) -> Iterator[Case]:
    """The case without a node: the nodes that used it use one of its inputs instead, or are removed as well."""
    nodes = case.nodes
    for stand_in in nodes[number].inputs:
        yield from _checked(case, _renumbered(nodes, {number: stand_in}))
    gone = {number}
    for later in range(number + 1, len(nodes)):
        if gone & set(nodes[later].inputs):
            gone.add(later)
    yield from _checked(case, _renumbered(nodes, dict.fromkeys(gone)))


def _renumbered(nodes: tuple[Node, ...], replaced: dict[int, int | None]) -> tuple[Node, ...]:
    """The nodes but those replaced, with new positions. A stand-in comes before the node it replaces."""
    position: dict[int, int] = {}
    kept: list[Node] = []
    for number, node in enumerate(nodes):
        if number in replaced:
            stand_in = replaced[number]
            if stand_in is not None:
                position[number] = position[stand_in]
            continue
        position[number] = len(kept)
        kept.append(replace(node, inputs=tuple(position[given] for given in node.inputs)))
    return tuple(kept)


def _with(nodes: tuple[Node, ...], number: int, node: Node) -> tuple[Node, ...]:
    return (*nodes[:number], node, *nodes[number + 1 :])


def _checked(case: Case, nodes: tuple[Node, ...]) -> Iterator[Case]:
    """The case with other nodes, without the steps of topics that it no longer reads; nothing if it is not sound."""
    candidate = replace(case, nodes=nodes)
    topics = set(candidate.topics)
    steps = tuple(step for step in case.steps if step[0] in topics or step[0] == "@advance")
    if steps and is_sound(nodes):
        yield replace(candidate, steps=steps)
