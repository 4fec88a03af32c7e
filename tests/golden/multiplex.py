"""Runs many goldens in one query: topologies as copies in one graph, scenarios as partitions.

Scenarios do not affect each other, because every sink, repartitions included, keeps the partition of its task. A global
table has no partitions, and a topic that a function chooses is not known in advance, so there every scenario has its
own copy of the topology. A partitioner chooses among the partitions of one scenario: there is one.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial

import headrace as hr
from headrace._graph.graph import Graph
from headrace._graph.nodes import (
    DynamicSink,
    ForeignKeyResolve,
    Process,
    Sink,
    Source,
    StreamJoin,
    TableJoinMerge,
    TableTransformValues,
)
from headrace._graph.patterns import with_matching_topics
from headrace.dsl.topology import Topology
from headrace.model.processor import RecordMetadata
from tests.golden.goldens import as_recorded


class Worlds:
    """Which golden runs in which copy of a topology, and in which partition."""

    def __init__(self, chosen):
        self._copies = {}
        self._partitions = {}
        self.partitions = {}
        for golden in chosen:
            copy = self._copies.setdefault(self._kind(golden), f"t{len(self._copies)}.")
            number = sum(self._copies[self._kind(other)] == copy for other in chosen[: chosen.index(golden)])
            self._partitions[golden.id, golden.name] = number

    def copies(self, chosen):
        """One golden for each topology, with its prefix."""
        first = {}
        for golden in chosen:
            first.setdefault(self._copies[self._kind(golden)], golden)
        return first.items()

    def partition(self, golden):
        return self._partitions[golden.id, golden.name]

    def renamed(self, golden, step):
        return (self._copies[self._kind(golden)] + step[0], *step[1:])

    def outputs(self, golden, found):
        prefix = self._copies[self._kind(golden)]
        return {
            topic.removeprefix(prefix): [as_recorded(record) for record in records]
            for (topic, _), records in found.items()
            if topic.startswith(prefix)
        }

    @staticmethod
    def _kind(golden):
        alone = golden.global_topics or golden.topology()._graph.dynamic_sinks
        return golden.id, json.dumps(golden.params, sort_keys=True), golden.name if alone else ""


def combined(chosen):
    """One topology for all goldens, and where each of them runs in it."""
    worlds = Worlds(chosen)
    nodes, stores = [], {}
    for prefix, golden in worlds.copies(chosen):
        names = {step[0] for other in chosen if worlds._copies[worlds._kind(other)] == prefix for step in other.steps}
        graph = with_matching_topics(golden.topology()._graph, dict.fromkeys(names, 1))
        renamed = with_prefix(graph, prefix)
        nodes += renamed.nodes
        stores |= renamed.stores
        scenarios = sum(worlds._copies[worlds._kind(other)] == prefix for other in chosen)
        worlds.partitions |= {f"{prefix}{topic}": scenarios for topic in graph.source_topics}
    return Topology(Graph(tuple(nodes), stores)), worlds


def with_prefix(graph, prefix):
    """A copy of a graph in which all names of nodes, stores and topics have a prefix."""
    stores = {f"{prefix}{name}": replace(store, name=f"{prefix}{name}") for name, store in graph.stores.items()}
    return Graph(tuple(_with_prefix(node, prefix) for node in graph.nodes), stores)


def _with_prefix(node, prefix):
    changes = {
        "name": prefix + node.name,
        "parents": tuple(prefix + parent for parent in node.parents),
        "stores": tuple(prefix + store for store in node.stores),
        "reads": tuple(prefix + store for store in node.reads),
        "tables": tuple(prefix + table for table in node.tables),
        "global_stores": tuple(prefix + store for store in node.global_stores),
    }
    if isinstance(node, TableJoinMerge):
        changes |= {"left": prefix + node.left, "right": prefix + node.right}
    if isinstance(node, ForeignKeyResolve):
        changes |= {"left_table": prefix + node.left_table, "right_table": prefix + node.right_table}
    if isinstance(node, Source):
        changes["topics"] = tuple(prefix + topic for topic in node.topics)
        if node.pattern is not None:
            changes["pattern"] = re.compile(f"{re.escape(prefix)}(?:{node.pattern.pattern})")
    if isinstance(node, Sink):
        partitioner = node.partitioner and partial(_own_partition, node.partitioner)
        changes |= {"topic": prefix + node.topic, "relay": True, "partitioner": partitioner}
    if isinstance(node, DynamicSink):
        changes["topic_of"] = partial(_with_topic_prefix, node.topic_of, prefix)
    if isinstance(node, Process):
        kind = _PrefixedTransformer if isinstance(node, TableTransformValues) else _PrefixedProcessor
        changes["factory"] = partial(kind, node.factory, prefix)
        changes["maintains"] = node.maintains and prefix + node.maintains
        changes["read_only"] = tuple(prefix + store for store in node.read_only)
    if isinstance(node, TableTransformValues):
        changes["rows"] = node.rows and prefix + node.rows
        needed = node.store_when_needed
        changes["store_when_needed"] = replace(needed, name=prefix + needed.name)
    if isinstance(node, StreamJoin):
        renamed = {name: getattr(node, name) for name in ("join", "merge", "window", "unmatched")}
        changes |= {name: known and prefix + known for name, known in renamed.items()}
    return replace(node, **changes)


def _own_partition(partitioner, topic, key, value, partitions):
    """Keeps a record that goes to the only partition of a scenario in the partition of its task."""
    answer = partitioner(topic, key, value, 1)
    return answer if isinstance(answer, tuple) else None


def _with_topic_prefix(topic_of, prefix, key, value, context):
    own = context.topic and context.topic.removeprefix(prefix)  # None for a record of a punctuation
    return prefix + topic_of(key, value, context._replace(topic=own))


class _PrefixedProcessor(hr.Processor):
    """Hides the prefix, and the partition, from a processor."""

    def __init__(self, factory, prefix):
        self._inner = factory()
        self._prefix = prefix

    def init(self, context):
        self._inner.init(_PrefixedContext(context, self._prefix))

    def process(self, record):
        self._inner.process(record)


class _PrefixedTransformer(hr.ValueTransformerWithKey):
    """Hides the prefix from a transformer."""

    def __init__(self, factory, prefix):
        self._inner = factory()
        self._prefix = prefix

    def init(self, context):
        self._inner.init(_PrefixedContext(context, self._prefix))

    def transform(self, key, value):
        return self._inner.transform(key, value)


class _PrefixedContext:
    def __init__(self, context, prefix):
        self._context = context
        self._prefix = prefix
        self.schedule = context.schedule

    @property
    def record_metadata(self):
        topic, _, offset = self._context.record_metadata
        return RecordMetadata(topic and topic.removeprefix(self._prefix), 0, offset)

    @property
    def current_stream_time_ms(self):
        return self._context.current_stream_time_ms

    def state_store(self, store):
        name = store if isinstance(store, str) else store.name
        return self._context.state_store(self._prefix + name)

    def forward(self, record, to=None):
        named = to is not None and to.name is not None
        self._context.forward(record, to=replace(to, name=self._prefix + to.name) if named else to)
