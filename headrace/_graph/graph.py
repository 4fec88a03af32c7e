"""The graph of a topology: its nodes and stores, its sub-topologies, and the builder that the fluent classes fill."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

from headrace._graph.names import NameGenerator
from headrace._graph.nodes import DynamicSink, Node, Process, Sink, Source
from headrace._graph.null_keys import with_null_keys
from headrace._graph.partitioners import refuse_different_rules
from headrace.errors import TopologyError, known_names, nearest
from headrace.model.stores.specs import StoreSpec

N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class SubTopology:
    """A connected part of the graph, or a stage, which may be a piece of one. `number` is the same as in Kafka Streams.

    `copies` are stores that only stages have: copies of the rows of tables of earlier stages, by the name of the table.
    """

    number: int
    nodes: tuple[Node, ...]
    copies: Mapping[str, StoreSpec] = field(default_factory=dict)

    def of_type(self, kind: type[N]) -> tuple[N, ...]:
        return tuple(node for node in self.nodes if isinstance(node, kind))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return self.of_type(Source)

    @cached_property
    def sinks(self) -> tuple[Sink, ...]:
        return self.of_type(Sink)

    @cached_property
    def dynamic_sinks(self) -> tuple[DynamicSink, ...]:
        return self.of_type(DynamicSink)

    @cached_property
    def source_topics(self) -> tuple[str, ...]:
        """User topics and internal topics of which each task reads one partition: all but those of global tables.

        They are in the order of declaration.
        """
        return _topics(source for source in self.sources if not source.is_global)

    @cached_property
    def global_topics(self) -> tuple[str, ...]:
        """Topics of global tables and global stores: each task reads all of their partitions."""
        return _topics(source for source in self.sources if source.is_global)

    @property
    def is_global(self) -> bool:
        """Whether this is a global table, which has no tasks of its own: it is part of the tasks that read it."""
        return bool(self.sources) and all(source.is_global for source in self.sources)

    @cached_property
    def internal_topics(self) -> frozenset[str]:
        return frozenset(topic for source in self.sources if source.internal for topic in source.topics)

    @cached_property
    def handed_over(self) -> frozenset[str]:
        """The names of the relays through which earlier stages hand over records."""
        return frozenset(topic for source in self.sources if source.handed_over for topic in source.topics)

    @cached_property
    def stores(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(store for node in self.nodes for store in node.stores))

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        return children_of(self.nodes)

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}


class Copartition(NamedTuple):
    """The topics on both sides of a join or cogroup, `operation`, which must have the same number of partitions.

    `sources` and `other_sources` name the sources on each side that read a pattern. The topics that match are added to
    `topics` and `other_topics` when an application starts.
    """

    operation: str
    topics: tuple[str, ...]
    other_topics: tuple[str, ...]
    sources: tuple[str, ...] = ()
    other_sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """All nodes in the order they were added, all stores by name, and which topics must be partitioned alike.

    Every task may write to the `dead_letter_topic`, if there is one.
    """

    nodes: tuple[Node, ...]
    stores: Mapping[str, StoreSpec]
    copartitions: tuple[Copartition, ...] = ()
    dead_letter_topic: str | None = None

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        return children_of(self.nodes)

    @cached_property
    def sub_topologies(self) -> tuple[SubTopology, ...]:
        """The connected components, in the order of their first nodes; edges and shared stores connect nodes."""
        group: dict[str, int] = {}
        owner: dict[str, int] = {}
        members: dict[int, list[Node]] = {}
        for index, node in enumerate(self.nodes):
            touching = {group[parent] for parent in node.parents} | {owner[s] for s in node.stores if s in owner}
            target = min(touching, default=index)
            members.setdefault(target, []).append(node)
            for other in touching - {target}:
                members[target] += members.pop(other)
            for moved in members[target]:
                group[moved.name] = target
                owner.update(dict.fromkeys(moved.stores, target))
        position = {node.name: index for index, node in enumerate(self.nodes)}
        return tuple(
            SubTopology(number, tuple(sorted(members[first], key=lambda node: position[node.name])))
            for number, first in enumerate(sorted(members))
        )

    @cached_property
    def global_tables(self) -> dict[str, SubTopology]:
        """Global tables by the name of their store."""
        return {store: sub for sub in self.sub_topologies if sub.is_global for store in sub.stores}

    @cached_property
    def global_topics(self) -> frozenset[str]:
        return frozenset(topic for table in self.global_tables.values() for topic in table.global_topics)

    @cached_property
    def user_sources(self) -> tuple[Source, ...]:
        """The sources that read user topics."""
        return tuple(node for node in self.nodes if isinstance(node, Source) and not node.internal)

    @cached_property
    def source_topics(self) -> tuple[str, ...]:
        """User topics that the topology reads; topics of a pattern are added when an application starts."""
        return _topics(self.user_sources)

    @cached_property
    def shown_source_topics(self) -> tuple[str, ...]:
        """User topics and topic patterns that the topology reads, as messages and pictures show them."""
        return tuple(dict.fromkeys(topic for source in self.user_sources for topic in source.shown_topics))

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of topics that the topology reads."""
        return tuple(source.pattern for source in self.user_sources if source.pattern is not None)

    @cached_property
    def dynamic_sinks(self) -> tuple[DynamicSink, ...]:
        """The sinks whose topics are known only when they write a record."""
        return tuple(node for node in self.nodes if isinstance(node, DynamicSink))

    @cached_property
    def sink_topics(self) -> tuple[str, ...]:
        """User topics that the topology writes to, dead letters included, except topics that a function chooses."""
        written = [s.topic for s in self.nodes if isinstance(s, Sink) and not s.internal]
        dead_letters = [] if self.dead_letter_topic is None else [self.dead_letter_topic]
        return tuple(dict.fromkeys(written + dead_letters))


def children_of(nodes: Iterable[Node]) -> dict[str, tuple[str, ...]]:
    """The children of every node, in the order they were added."""
    children: dict[str, list[str]] = {node.name: [] for node in nodes}
    for node in nodes:
        for parent in node.parents:
            children[parent].append(node.name)
    return {name: tuple(names) for name, names in children.items()}


def _topics(sources: Iterable[Source]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(topic for source in sources for topic in source.topics))


class GraphBuilder:
    """Collects nodes and stores while a topology is built; `build` returns them as an immutable `Graph`."""

    def __init__(self) -> None:
        self.names = NameGenerator()
        self._nodes: dict[str, Node] = {}
        self._stores: dict[str, StoreSpec] = {}
        self._copartitions: list[Copartition] = []

    @classmethod
    def of(cls, graph: Graph) -> GraphBuilder:
        """A builder that starts from an existing graph, without changing it."""
        builder = cls()
        builder._nodes, builder._stores = dict(graph.by_name), dict(graph.stores)
        builder._copartitions = list(graph.copartitions)
        return builder

    def add(self, node: N) -> N:
        if node.name in self._nodes:
            message = (
                f"There is already a node named {node.name!r}; every name must be used once. Choose another name=."
            )
            raise TopologyError(message)
        for parent in node.parents:
            if parent not in self._nodes:
                message = (
                    f"Node {node.name!r} names the unknown parent {parent!r}. Known nodes: {known_names(self._nodes)}."
                )
                raise TopologyError(message)
        self._nodes[node.name] = node
        return node

    def replace(self, node: Node) -> None:
        """Replaces the node of the same name."""
        self._nodes[node.name] = node

    def node(self, name: str) -> Node:
        if name not in self._nodes:
            known = self._nodes
            message = f"There is no node named {name!r}.{nearest(name, known)} Known nodes: {known_names(known)}."
            raise TopologyError(message)
        return self._nodes[name]

    def add_store(self, store: StoreSpec) -> StoreSpec:
        if store.name in self._stores:
            message = f"There is already a store named {store.name!r}; give this operator another store= name."
            raise TopologyError(message)
        self._stores[store.name] = store
        return store

    def store(self, name: str) -> StoreSpec:
        return self._stores[name]

    def shared_store(self, store: StoreSpec | str, user: str) -> str:
        """Returns the name of a store that the processor `user` uses. If `store` is the spec of a new one, adds it."""
        if isinstance(store, StoreSpec):
            if self._stores.get(store.name) is not store:
                self.add_store(store)
            return store.name
        if store not in self._stores:
            known = self._stores
            message = (
                f"{user!r} asks for the store {store!r}, which does not exist.{nearest(str(store), known)} Known "
                f"stores: {known_names(known)}. Pass the store itself, e.g. Stores.key_value(...)."
            )
            raise TopologyError(message)
        return store

    def connect_own(self, name: str, stores: Iterable[StoreSpec | str], own: Iterable[StoreSpec]) -> None:
        """Lets the processor `name` use `stores`, as passed by the user, and `own`, as returned by its `stores()`.

        That method may return new specs at every call, so an own spec that equals that of an existing store means that
        store.
        """
        given = [self.shared_store(store, name) for store in stores]
        declared = [self.shared_store(spec.name if self._stores.get(spec.name) == spec else spec, name) for spec in own]
        self.connect(name, (*given, *declared))

    def connect(self, name: str, stores: Iterable[str]) -> None:
        """Lets a node use more stores; it can only read global stores, and read-only stores of other processors."""
        node, tables = self.node(name), self.build().global_tables
        used = dict.fromkeys((*node.stores, *node.global_stores, *stores))
        if isinstance(node, Process) and node.is_global:
            if used.keys() != set(node.stores):
                message = f"Processor {name!r} maintains global store {node.stores[0]!r} and can use no other store."
                raise TopologyError(message)
            return
        own = tuple(store for store in used if store not in tables)
        node = replace(node, stores=own, global_stores=tuple(store for store in used if store in tables))
        if isinstance(node, Process):
            read_only = tuple(store for store in own if self._maintainer(store) not in (None, name))
            node = replace(node, read_only=read_only)
        self.replace(node)

    def _maintainer(self, store: str) -> str | None:
        """The processor that alone may write a store; `None` if the store is not read-only for others."""
        nodes = self._nodes.values()
        return next((node.name for node in nodes if isinstance(node, Process) and node.maintains == store), None)

    def copartition(self, operation: str, node: str, other: str) -> None:
        """Requires that the topics before two nodes have the same number of partitions, and the same partitioner."""
        sides = [tuple(dict.fromkeys(self._sources_before(name))) for name in (node, other)]
        topics, other_topics = (_topics(side) for side in sides)
        patterns, other_patterns = (tuple(one.name for one in side if one.pattern is not None) for side in sides)
        refuse_different_rules(operation, (*topics, *other_topics), self._nodes.values())
        self._copartitions.append(Copartition(operation, topics, other_topics, patterns, other_patterns))

    def _sources_before(self, name: str) -> Iterator[Source]:
        node = self.node(name)
        if isinstance(node, Source):
            yield node
        for parent in node.parents:
            yield from self._sources_before(parent)

    def sources(self) -> list[Source]:
        return [node for node in self._nodes.values() if isinstance(node, Source)]

    def refuse_matched(self, topics: Iterable[str]) -> None:
        """Raises a `TopologyError` if one of these user topics matches the pattern of a source."""
        for topic in topics:
            for node in self.sources():
                if node.pattern is not None and node.pattern.fullmatch(topic):
                    raise _matched_already(node.pattern, topic, node)

    def source_of_pattern(self, pattern: re.Pattern[str]) -> Source | None:
        """The source that already reads this pattern, or `None`.

        Raises:
            TopologyError: if another source reads a topic that matches the pattern.
        """
        for node in self.sources():
            if node.pattern == pattern:
                return node
            for topic in () if node.internal else node.topics:
                if pattern.fullmatch(topic):
                    raise _matched_already(pattern, topic, node)
        return None

    def source_of(self, topics: tuple[str, ...]) -> Source | None:
        """The source that already reads exactly these topics, or `None`.

        Raises:
            TopologyError: if a source reads only some of the topics or others as well, or reads them as a global table.
        """
        for node in self.sources():
            if set(node.topics) & set(topics):
                shared = sorted(set(node.topics) & set(topics))
                if node.is_global:
                    message = (
                        f"Topic {shared[0]!r} is already read by source {node.name!r} as a global table, and a topic "
                        "can be read only once. Use that table, or write its records to another topic as well."
                    )
                    raise TopologyError(message)
                if node.topics == topics:
                    return node
                message = (
                    f"Topic {shared[0]!r} is already read by source {node.name!r} together with other topics "
                    f"({known_names(node.topics)}). Read each topic once and reuse the stream."
                )
                raise TopologyError(message)
        return None

    def before(self, node: Node) -> tuple[str, ...]:
        """The nodes whose records a node receives: its parents or, for the source of a repartition, its sinks."""
        if isinstance(node, Source) and node.internal:
            return self._writers_of(node.topics)
        return node.parents

    def _writers_of(self, topics: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(node.name for node in self._nodes.values() if isinstance(node, Sink) and node.topic in topics)

    def build(self) -> Graph:
        return Graph(with_null_keys(self._nodes), dict(self._stores), tuple(self._copartitions))


def _matched_already(pattern: re.Pattern[str], topic: str, source: Source) -> TopologyError:
    return TopologyError(
        f"Topic {topic!r} matches the pattern {pattern.pattern!r}, and one of the two is already read by source "
        f"{source.name!r}. A topic can be read only once: exclude it from the pattern, e.g. with "
        f"re.compile(r'(?!{re.escape(topic)}$){pattern.pattern}'), or read it only through the pattern."
    )
