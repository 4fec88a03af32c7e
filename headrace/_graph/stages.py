"""Sub-topologies cut into stages that can run one after another, each once per batch.

A sub-topology is one stage, unless its own output comes back to it through a repartition (a stream joined with a table
made of that same stream). Then it is cut: nodes behind the repartition, and all that share a store with them, run in a
later stage, and a relay hands them the records of earlier ones. A global table is part of every stage that reads it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from headrace._graph.global_tables import replicated
from headrace._graph.graph import Graph, SubTopology
from headrace._graph.nodes import Node, Sink, Source
from headrace.errors import TopologyError
from headrace.serdes import Serde

_Place = tuple[int, int]  # number of the sub-topology, level


class Pickled(Serde[Any]):
    """Any Python value, for relays only: they never leave the application."""

    def _to_bytes(self, value: Any) -> bytes:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)

    def _from_bytes(self, data: bytes) -> Any:
        return pickle.loads(data)  # noqa: S301


def stages(graph: Graph) -> tuple[SubTopology, ...]:
    """Each stage after all that feed it."""
    home = {node.name: sub.number for sub in graph.sub_topologies for node in sub.nodes}
    cyclic = _cyclic(graph, home)
    levels = _levels(graph) if cyclic else {}
    places = {name: (number, levels[name] if number in cyclic else 0) for name, number in home.items()}
    members: dict[_Place, list[Node]] = {}
    relays: dict[tuple[str, _Place], str] = {}
    for node in graph.nodes:
        place = places[node.name]
        parents = tuple(
            parent if places[parent] == place else _relay(parent, places[parent], place, members, relays)
            for parent in node.parents
        )
        members.setdefault(place, []).append(replace(node, parents=parents))
    cut = {place: SubTopology(place[0], tuple(nodes)) for place, nodes in members.items()}
    return _ordered(replicated(graph, cut))


def _relay(
    parent: str,
    from_place: _Place,
    to_place: _Place,
    members: dict[_Place, list[Node]],
    relays: dict[tuple[str, _Place], str],
) -> str:
    """The source, in a later stage, of what a node of an earlier one forwards."""
    known = relays.get((parent, to_place))
    if known is not None:
        return known
    topic = f"{parent}-relay-{to_place[1]}"
    pickled = Pickled()
    sink = Sink(
        name=f"{topic}-sink",
        parents=(parent,),
        topic=topic,
        key_serde=pickled,
        value_serde=pickled,
        internal=True,
        relay=True,
    )
    source = Source(name=f"{topic}-source", topics=(topic,), key_serde=pickled, value_serde=pickled, internal=True)
    members[from_place].append(sink)
    members.setdefault(to_place, []).append(source)
    relays[parent, to_place] = source.name
    return source.name


def _cyclic(graph: Graph, home: Mapping[str, int]) -> set[int]:
    """Numbers of the sub-topologies whose repartitions lead back to them."""
    readers = {topic: home[node.name] for node in graph.nodes if isinstance(node, Source) for topic in node.topics}
    feeds: dict[int, set[int]] = {sub.number: set() for sub in graph.sub_topologies}
    for node in graph.nodes:
        if isinstance(node, Sink) and node.internal:
            feeds[home[node.name]].add(readers[node.topic])
    return {number for number in feeds if number in _reachable(number, feeds)}


def _reachable(start: int, feeds: Mapping[int, set[int]]) -> set[int]:
    found: set[int] = set()
    waiting = list(feeds[start])
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += feeds[number]
    return found


def _levels(graph: Graph) -> dict[str, int]:
    """How many repartitions lie before each node; nodes that share a store wait for the last of them."""
    sinks = {node.topic: node.name for node in graph.nodes if isinstance(node, Sink) and node.internal}
    sharing: dict[str, list[str]] = {}
    for node in graph.nodes:
        for store in node.stores:
            sharing.setdefault(store, []).append(node.name)
    levels = dict.fromkeys(graph.by_name, 0)
    for _ in range(len(graph.nodes) + 1):
        before = dict(levels)
        for node in graph.nodes:
            levels[node.name] = max(levels[node.name], *_lower_bounds(node, levels, sinks, sharing), 0)
        if levels == before:
            return _with_late_sources(graph, levels)
    message = (
        "A store is used both before and after a repartition that it feeds itself; such a topology cannot run in one "
        "pass. Write to a topic with to() and read it back with stream() instead."
    )
    raise TopologyError(message)


def _lower_bounds(
    node: Node, levels: Mapping[str, int], sinks: Mapping[str, str], sharing: Mapping[str, list[str]]
) -> Iterable[int]:
    yield from (levels[parent] for parent in node.parents)
    yield from (levels[other] for store in node.stores for other in sharing[store])
    if isinstance(node, Source) and node.internal:
        yield from (levels[sinks[topic]] + 1 for topic in node.topics)


def _with_late_sources(graph: Graph, levels: dict[str, int]) -> dict[str, int]:
    """A repartition read only by later nodes is read there, without a relay."""
    placed = dict(levels)
    for node in graph.nodes:
        if isinstance(node, Source):
            readers = [levels[child] for child in graph.children[node.name] if child != node.dead_letters]
            placed[node.name] = min(readers, default=levels[node.name])
            if node.dead_letters is not None:
                placed[node.dead_letters] = placed[node.name]
    return placed


def _ordered(unordered: Mapping[_Place, SubTopology]) -> tuple[SubTopology, ...]:
    writers = {sink.topic: place for place, stage in unordered.items() for sink in stage.sinks if sink.internal}
    ordered: list[_Place] = []
    waiting = sorted(unordered)
    while waiting:
        ready = next(
            place for place in waiting if all(writers[topic] in ordered for topic in unordered[place].internal_topics)
        )
        ordered.append(ready)
        waiting.remove(ready)
    return tuple(unordered[place] for place in ordered)
