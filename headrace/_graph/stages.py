"""Splits sub-topologies into stages that run one after the other, each once per batch.

A sub-topology is one stage, unless its own output comes back to it through a repartition (a stream joined with a table
that is made from the same stream). Then it is split by levels: nodes after the repartition run in a later stage, a
relay hands them the records of earlier stages, and a copy holds the rows that they look up in a table of an earlier
stage. A global table is part of every stage that reads it.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace._graph.describing.levels import levels
from headrace._graph.graph import Graph, SubTopology
from headrace._graph.nodes import (
    CogroupMerge,
    ForeignKeyLeftRows,
    ForeignKeyResolve,
    HandOver,
    Node,
    Sink,
    Source,
    Suppress,
    TableCopy,
    TableJoinMerge,
    TakeOver,
)
from headrace._graph.tables.foreign_keys import answers_may_be_stale, subscriptions_may_be_stale
from headrace._graph.tables.global_tables import add_global_tables
from headrace._graph.tables.rows import computed_from
from headrace.model.stores.specs import SessionSpec, StoreSpec, TimestampedKeyValueSpec, TimestampedWindowSpec
from headrace.serdes import Serde

_StageKey = tuple[int, int]  # number of the sub-topology, level


class Pickled(Serde[Any]):
    """Serializes any Python value; only for relays, whose bytes no later batch reads."""

    def _to_bytes(self, value: Any) -> bytes:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)

    def _from_bytes(self, data: bytes) -> Any:
        return pickle.loads(data)  # noqa: S301


_PICKLED: dict[str, Any] = {"key_serde": Pickled(), "value_serde": Pickled()}


def stages(graph: Graph) -> tuple[SubTopology, ...]:
    """The stages of a graph, each after all stages that write its input."""
    numbers = {node.name: sub.number for sub in graph.sub_topologies for node in sub.nodes}
    cyclic = _cyclic(graph, numbers)
    level = levels(graph) if cyclic else {}
    cut = _Cut(graph, {name: (number, level[name] if number in cyclic else 0) for name, number in numbers.items()})
    return _sort(add_global_tables(graph, cut.stages()))


class _Cut:
    """Assigns nodes to stages, and adds relays and copies where an edge or a lookup crosses from one to another."""

    def __init__(self, graph: Graph, places: Mapping[str, _StageKey]) -> None:
        self._graph = graph
        self._stage_keys = places
        self._members: dict[_StageKey, list[Node]] = {}
        self._copies: dict[_StageKey, dict[str, StoreSpec]] = {}
        self._relays: dict[tuple[_StageKey, _StageKey], list[str]] = {}

    def stages(self) -> dict[_StageKey, SubTopology]:
        # Copies first: a store changes before its table forwards the change, and so must each copy.
        nodes = [self._with_copies(self._with_left_table(node)) for node in self._graph.nodes]
        for node in nodes:
            if isinstance(node, ForeignKeyResolve) and not node.tables and answers_may_be_stale(self._graph, node):
                self._add_left_rows(node)
        for node in nodes:
            place = self._stage_keys[node.name]
            parents = tuple(self._parent(parent, node.name) for parent in node.parents)
            self._members.setdefault(place, []).append(replace(node, parents=parents))
        for (earlier, later), handed in self._relays.items():
            topic, serdes = _relay(earlier, later), _PICKLED
            sink = Sink(name=f"{topic}-sink", parents=tuple(handed), topic=topic, internal=True, relay=True, **serdes)
            source = Source(name=f"{topic}-source", topics=(topic,), internal=True, handed_over=True, **serdes)
            self._members[earlier].append(sink)
            self._members[later].append(source)
        return {
            place: SubTopology(place[0], tuple(nodes), self._copies.get(place, {}))
            for place, nodes in self._members.items()
        }

    def _with_copies(self, node: Node) -> Node:
        """The node with only stores of its own stage: stores of earlier stages are replaced with copies."""
        place = self._stage_keys[node.name]
        elsewhere = {store for store in node.reads if place not in self._owners(store)}
        if not elsewhere:
            return node
        tables = dict.fromkeys(other for table in node.tables for other in self._stored_elsewhere(table, place))
        copies = [self._copy(table, place) for table in tables]
        stores, reads = ([*(s for s in used if s not in elsewhere), *copies] for used in (node.stores, node.reads))
        return replace(node, stores=tuple(stores), reads=tuple(reads))

    def _with_left_table(self, node: Node) -> Node:
        """Returns the node. If it may get answers to stale subscriptions, it looks up the rows of its left table."""
        if isinstance(node, ForeignKeyResolve) and subscriptions_may_be_stale(self._graph, node):
            return replace(node, tables=(node.left_table,))
        return node

    def _add_left_rows(self, resolve: ForeignKeyResolve) -> None:
        place = self._stage_keys[resolve.name]
        changes = self._taken(resolve.left_table, place, 0)
        serdes: dict[str, Any] = {"key_serde": resolve.key_serde, "value_serde": resolve.value_serde}
        rows = ForeignKeyLeftRows(name=f"{resolve.name}-left", parents=(changes,), resolve=resolve.name, **serdes)
        self._members.setdefault(place, []).append(rows)

    def _owners(self, store: str) -> set[_StageKey]:
        return {
            self._stage_keys[node.name]
            for node in self._graph.nodes
            if store in node.stores and store not in node.reads
        }

    def _stored_elsewhere(self, table: str, place: _StageKey) -> list[str]:
        """The tables of earlier stages that store the rows from which a table is computed.

        Stored rows are copied, and rows that are computed from them are computed from the copies: so all lookups see a
        change at the same moment.
        """
        node = self._graph.by_name[table]
        is_elsewhere = self._stage_keys[table] != place
        before = () if is_elsewhere and isinstance(node, Suppress | CogroupMerge) else computed_from(node)
        if not before:
            return [table] if is_elsewhere else []
        return [other for name in before for other in self._stored_elsewhere(name, place)]

    def _copy(self, table: str, place: _StageKey) -> str:
        """Adds a copy of a table of an earlier stage, if there is none; returns the name of its node and store."""
        name = f"{table}-copy-{place[1]}"
        copies = self._copies.setdefault(place, {})
        if table not in copies:
            node, rows = self._graph.by_name[table], self._like(table)
            stored = self._graph.stores[node.stores[0]] if node.stores else rows
            copies[table] = replace(rows, name=name, value_serde=stored.value_serde)
            cached = getattr(node, "cached", False)
            changes = self._taken(table, place, 0, every_update=cached)
            copy = TableCopy(name=name, parents=(changes,), stores=(name,), tables=(table,))
            self._members.setdefault(place, []).append(copy)
        return name

    def _like(self, table: str) -> StoreSpec:
        """The spec of a store that holds rows like those of the table: windows expire, versions have a history."""
        node = self._graph.by_name[table]
        before = [self._like(name) for name in computed_from(node)]
        if not before:
            store = self._graph.stores[node.stores[0]]
            return replace(store, caller_expires=False) if isinstance(store, TimestampedWindowSpec) else store
        return _joined(*before) if isinstance(node, TableJoinMerge) else before[0]

    def _parent(self, parent: str, child: str) -> str:
        """The node from which `child` gets the records of `parent`: `parent` itself, or the end of a relay."""
        earlier, place = self._stage_keys[parent], self._stage_keys[child]
        if earlier == place:
            return parent
        siblings = self._graph.children[parent]
        turn = sum(self._stage_keys[sibling] == earlier for sibling in siblings[: siblings.index(child)])
        return self._taken(parent, place, turn)

    def _taken(self, parent: str, place: _StageKey, turn: int, *, every_update: bool = False) -> str:
        """Returns the node at the end of the relay that hands the records of `parent` to the stage `place`.

        All records that one stage hands to another go through one relay, so they keep their order. If `parent` also has
        children in its own stage, it hands a record over after `turn` of them: when the child in the later stage has
        its turn. `every_update` bypasses the record cache of a cached node, so that a copy has the same rows as the
        node's store.
        """
        handed = f"{parent}-relay-{place[1]}" + (f"-{turn}" if turn else "") + ("-rows" if every_update else "")
        taken = f"{handed}-taken"
        earlier = self._stage_keys[parent]
        relayed = self._relays.setdefault((earlier, place), [])
        if handed not in relayed:
            number = len(relayed)
            relayed.append(handed)
            take_over = TakeOver(name=taken, parents=(f"{_relay(earlier, place)}-source",), number=number)
            hand_over = HandOver(name=handed, parents=(parent,), number=number, every_update=every_update)
            self._members.setdefault(earlier, []).append(hand_over)
            self._members.setdefault(place, []).append(take_over)
        return taken


def _relay(earlier: _StageKey, later: _StageKey) -> str:
    return f"relay-{earlier[0]}-{earlier[1]}-{later[1]}"


def _joined(left: StoreSpec, right: StoreSpec) -> StoreSpec:
    """The spec of a store without versions, for the rows of a join of two tables.

    If the rows of both sides expire, the longer retention is used; if only those of one side do, the store has none.
    """
    if isinstance(left, TimestampedWindowSpec | SessionSpec) and isinstance(right, TimestampedWindowSpec | SessionSpec):
        return max(left, right, key=lambda side: side.retention_ms)
    lasting = right if isinstance(left, TimestampedWindowSpec | SessionSpec) else left
    return TimestampedKeyValueSpec(name=lasting.name, key_serde=lasting.key_serde)


def _cyclic(graph: Graph, numbers: Mapping[str, int]) -> set[int]:
    """Numbers of the sub-topologies whose repartitions lead back to them."""
    readers = {topic: numbers[node.name] for node in graph.nodes if isinstance(node, Source) for topic in node.topics}
    feeds: dict[int, set[int]] = {sub.number: set() for sub in graph.sub_topologies}
    for node in graph.nodes:
        if isinstance(node, Sink) and node.internal:
            feeds[numbers[node.name]].add(readers[node.topic])
    return {number for number in feeds if number in _reachable(number, feeds)}


def _reachable(start: int, feeds: Mapping[int, set[int]]) -> set[int]:
    reachable: set[int] = set()
    pending = list(feeds[start])
    while pending:
        number = pending.pop()
        if number not in reachable:
            reachable.add(number)
            pending += feeds[number]
    return reachable


def _sort(unordered: Mapping[_StageKey, SubTopology]) -> tuple[SubTopology, ...]:
    writers: dict[str, set[_StageKey]] = {}
    for place, stage in unordered.items():
        for sink in stage.sinks:
            if sink.internal:
                writers.setdefault(sink.topic, set()).add(place)
    ordered: list[_StageKey] = []
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
