"""Settings that apply to nodes which do not set their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace._core import operators as ops
from headrace._core.errors.handlers import ErrorHandlers
from headrace._graph import nodes
from headrace._graph.graph import Graph
from headrace._graph.stores import StoreSpec
from headrace._runtime.stores import known_store, make_view
from headrace._state.bytes.api import ByteReader
from headrace.config import StreamsConfig
from headrace.model.timestamps import Extractor
from headrace.serdes import Json, Serde, String


@dataclass(frozen=True)
class Defaults:
    """The settings that operators need: default serdes and extractor, the timestamp guard, the error handlers.

    `single_event` says whether a change within a group of a table is sent as one event or, as Kafka Streams did up to
    3.4, as two.
    """

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    extractor: Extractor
    single_event: bool
    guard: ops.TimestampGuard | None
    error_handlers: ErrorHandlers

    @classmethod
    def of(cls, config: StreamsConfig) -> Defaults:
        return cls(
            config.default_key_serde or String(),
            config.default_value_serde or Json(),
            config.default_timestamp_extractor,
            single_event=not config.writes_old_change_events,
            guard=_timestamp_guard(config),
            error_handlers=ErrorHandlers(
                config.deserialization_exception_handler,
                config.processing_exception_handler,
                config.production_exception_handler,
                config.dead_letter_topic,
            ),
        )

    def resolve_key(self, serde: Serde[Any] | None) -> Serde[Any]:
        """The serde for a node's keys: its own, or the default if it has none."""
        return (serde or self.key_serde).with_default(self.key_serde)

    def resolve_value(self, serde: Serde[Any] | None) -> Serde[Any]:
        """The serde for a node's values: its own, or the default if it has none."""
        return (serde or self.value_serde).with_default(self.value_serde)

    def serdes(self, node: nodes.Source | nodes.Sink | nodes.DynamicSink | StoreSpec) -> tuple[Serde[Any], Serde[Any]]:
        """The serdes for the keys and values of a topic or store."""
        return self.resolve_key(node.key_serde), self.resolve_value(node.value_serde)

    def view(self, graph: Graph, name: str, parts: Sequence[ByteReader]) -> Any:
        """A read-only view of a store over the parts that its tasks hold."""
        store = known_store(graph, name)
        return make_view(store, parts, self.serdes(store))


def _timestamp_guard(config: StreamsConfig) -> ops.TimestampGuard | None:
    ahead = config.max_timestamp_ahead
    if ahead is None:
        return None
    return ops.TimestampGuard(ahead // timedelta(milliseconds=1), config.timestamp_ahead_handler)
