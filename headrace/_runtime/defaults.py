"""What the configuration decides for nodes that leave it open."""

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
    """What the configuration decides: serdes and extractor for nodes that name none, what is refused, and more."""

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
            guard=_guard(config),
            error_handlers=ErrorHandlers(
                config.deserialization_exception_handler,
                config.processing_exception_handler,
                config.production_exception_handler,
                config.dead_letter_topic,
            ),
        )

    def keys(self, given: Serde[Any] | None) -> Serde[Any]:
        """The serde of keys, where a node names this one or none."""
        return (given or self.key_serde).with_default(self.key_serde)

    def values(self, given: Serde[Any] | None) -> Serde[Any]:
        return (given or self.value_serde).with_default(self.value_serde)

    def serdes(self, node: nodes.Source | nodes.Sink | StoreSpec) -> tuple[Serde[Any], Serde[Any]]:
        return self.keys(node.key_serde), self.values(node.value_serde)

    def view(self, graph: Graph, name: str, parts: Sequence[ByteReader]) -> Any:
        """What a query sees of a store of which the tasks hold these parts."""
        store = known_store(graph, name)
        return make_view(store, parts, self.serdes(store))


def _guard(config: StreamsConfig) -> ops.TimestampGuard | None:
    ahead = config.max_timestamp_ahead
    if ahead is None:
        return None
    return ops.TimestampGuard(ahead // timedelta(milliseconds=1), config.timestamp_ahead_handler)
