"""Nodes where records enter a graph and leave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes.base import Node
from headrace.model.timestamps import Extractor
from headrace.serdes import Serde


@dataclass(frozen=True, kw_only=True)
class Source(Node):
    """Reads topics. An internal one reads what a repartition sink of the same topology wrote.

    Of a global one every task gets all records. What an earlier stage of the same task has handed over comes before all
    else that follows from the same input record.
    """

    topics: tuple[str, ...]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    timestamp_extractor: Extractor | None = None
    internal: bool = False
    is_global: bool = False
    handed_over: bool = False


@dataclass(frozen=True, kw_only=True)
class Sink(Node):
    """Writes a topic; an internal one is the writing half of a repartition, or of a relay.

    A relay hands records to a later stage of the same task, so it keeps the partition whatever the key.
    """

    topic: str
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    internal: bool = False
    partitions: int | None = None
    relay: bool = False
