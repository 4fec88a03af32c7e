"""Nodes where records enter a graph and leave it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes.base import Node
from headrace.model.offset_reset import AutoOffsetReset
from headrace.model.routing import StreamPartitioner, TopicNameExtractor
from headrace.model.time.timestamps import Extractor
from headrace.serdes import Serde


@dataclass(frozen=True, kw_only=True)
class Source(Node):
    """Reads topics. An `internal` source reads a repartition topic or a relay of the same topology.

    If `is_global`, every task gets all records. If `handed_over`, it reads a relay: its records come before all others
    that descend from the same input record.

    A source with a `pattern` reads all topics whose whole name matches it. In a graph that a user builds, it has no
    `topics`; those that match are filled in when an application starts (`_graph/patterns.py`). `least_tasks` is then
    the most partitions that any of its topics ever had: tasks with state stay when topics disappear.
    """

    topics: tuple[str, ...]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    timestamp_extractor: Extractor | None = None
    internal: bool = False
    is_global: bool = False
    handed_over: bool = False
    offset_reset: AutoOffsetReset | None = None
    pattern: re.Pattern[str] | None = None
    least_tasks: int = 0

    @property
    def shown_topics(self) -> tuple[str, ...]:
        """The topics, or the pattern in place of those that match it, as messages and pictures show them."""
        return self.topics if self.pattern is None else (self.pattern.pattern,)


@dataclass(frozen=True, kw_only=True)
class Sink(Node):
    """Writes a topic. An `internal` sink writes a repartition topic or a relay.

    A `relay` hands records to a later stage that was cut out of the same sub-topology. They stay in their partition,
    whatever their key.
    Without a `partitioner`, Kafka's default partitioner chooses the partition. `partitions` is the number of partitions
    that `repartition(partitions=...)` requests.
    """

    topic: str
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    internal: bool = False
    partitions: int | None = None
    relay: bool = False
    partitioner: StreamPartitioner[Any, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class DynamicSink(Node):
    """Writes each record to the topic that a function returns for it: a user topic, which may not exist yet."""

    topic_of: TopicNameExtractor[Any, Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    partitioner: StreamPartitioner[Any, Any] | None = None
