"""Sub-topologies cut into stages that can run one after another, each once per batch.

A sub-topology is one stage, unless its own output comes back to it through a repartition (a stream joined with a table
made of that same stream). Then it is cut by levels: nodes behind the repartition run in a later stage, a relay hands
them the records of earlier ones, and a table of an earlier stage that they look up is kept there once more. A global
table is part of every stage that reads it.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace._graph.global_tables import replicated
from headrace._graph.graph import Graph, SubTopology
from headrace._graph.levels import levels
from headrace._graph.nodes import Node, Sink, Source, TableCopy
from headrace._graph.stores import Store, TimestampedKeyValue, Versioned
from headrace.serdes import Serde

_Place = tuple[int, int]  # number of the sub-topology, level


class Pickled(Serde[Any]):
    """Any Python value, for relays and copies only: they never leave the application."""

    def _to_bytes(self, value: Any) -> bytes:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)

    def _from_bytes(self, data: bytes) -> Any:
        return pickle.loads(data)  # noqa: S301


def stages(graph: Graph) -> tuple[SubTopology, ...]:
    """Each stage after all that feed it."""
    home = {node.name: sub.number for sub in graph.sub_topologies for node in sub.nodes}
    cyclic = _cyclic(graph, home)
    found = levels(graph) if cyclic else {}
    cut = _Cut(graph, {name: (number, found[name] if number in cyclic else 0) for name, number in home.items()})
    return _ordered(replicated(graph, cut.stages()))


class _Cut:
    """The stages in the making."""

    def __init__(self, graph: Graph, places: Mapping[str, _Place]) -> None:
        self._graph = graph
        self._places = places
        self._members: dict[_Place, list[Node]] = {}
        self._copies: dict[_Place, list[Store]] = {}
        self._relays: dict[tuple[str, _Place], str] = {}

    def stages(self) -> dict[_Place, SubTopology]:
        # Copies first: those who look them up see a change there before they see what follows from it.
        placed = [self._with_copies(node) for node in self._graph.nodes]
        for node in placed:
            place = self._places[node.name]
            parents = tuple(self._parent(parent, place) for parent in node.parents)
            self._members.setdefault(place, []).append(replace(node, parents=parents))
        return {
            place: SubTopology(place[0], tuple(nodes), tuple(self._copies.get(place, ())))
            for place, nodes in self._members.items()
        }

    def _with_copies(self, node: Node) -> Node:
        """The node with the stores of its own stage only: of tables of earlier ones, it looks up copies."""
        place = self._places[node.name]
        elsewhere = {store for store in node.reads if place not in self._owners(store)}
        if not elsewhere:
            return node
        copied = {table: self._copy(table, place) for table in node.tables if self._places[table] != place}
        kept = (*(store for store in node.stores if store not in elsewhere), *copied.values())
        tables = tuple(copied.get(table, table) for table in node.tables)
        return replace(node, stores=kept, reads=tuple(copied.values()), tables=tables)

    def _owners(self, store: str) -> set[_Place]:
        return {
            self._places[node.name] for node in self._graph.nodes if store in node.stores and store not in node.reads
        }

    def _copy(self, table: str, place: _Place) -> str:
        """The node, and the store, that keeps the rows of a table of an earlier stage."""
        name = f"{table}-copy-{place[1]}"
        copies = self._copies.setdefault(place, [])
        if all(store.name != name for store in copies):
            copies.append(_copied(name, [self._graph.stores[store] for store in self._rows(table)]))
            parents = (self._parent(table, place),)
            self._members.setdefault(place, []).append(TableCopy(name=name, parents=parents, stores=(name,)))
        return name

    def _rows(self, table: str) -> tuple[str, ...]:
        """The stores behind the rows of a table."""
        node = self._graph.by_name[table]
        return node.stores or tuple(store for parent in node.parents for store in self._rows(parent))

    def _parent(self, parent: str, place: _Place) -> str:
        """The node itself if it is in the same stage, else the source, in a later stage, of what it forwards."""
        if self._places[parent] == place:
            return parent
        if (parent, place) not in self._relays:
            topic = f"{parent}-relay-{place[1]}"
            serdes: dict[str, Any] = {"key_serde": Pickled(), "value_serde": Pickled()}
            sink = Sink(name=f"{topic}-sink", parents=(parent,), topic=topic, internal=True, relay=True, **serdes)
            source = Source(name=f"{topic}-source", topics=(topic,), internal=True, handed_over=True, **serdes)
            self._members.setdefault(self._places[parent], []).append(sink)
            self._members.setdefault(place, []).append(source)
            self._relays[parent, place] = source.name
        return self._relays[parent, place]


def _copied(name: str, stores: list[Store]) -> Store:
    """A store for the same rows; their values may be any that functions made of those in `stores`."""
    versioned = [store for store in stores if isinstance(store, Versioned)]
    if versioned:
        return replace(versioned[0], name=name, value_serde=Pickled())
    return TimestampedKeyValue(name=name, key_serde=stores[0].key_serde, value_serde=Pickled())


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


def _ordered(unordered: Mapping[_Place, SubTopology]) -> tuple[SubTopology, ...]:
    writers: dict[str, set[_Place]] = {}
    for place, stage in unordered.items():
        for sink in stage.sinks:
            if sink.internal:
                writers.setdefault(sink.topic, set()).add(place)
    ordered: list[_Place] = []
    waiting = sorted(unordered)
    while waiting:
        ready = next(
            place
            for place in waiting
            if all(writers[topic] <= set(ordered) for topic in unordered[place].internal_topics)
        )
        ordered.append(ready)
        waiting.remove(ready)
    return tuple(unordered[place] for place in ordered)
