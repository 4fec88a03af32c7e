"""Settings that apply to nodes which do not set their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from headrace._core import operators as ops
from headrace._core.errors.handlers import ErrorHandlers
from headrace._core.task.context import ProcessorSettings
from headrace._graph import nodes
from headrace._graph.graph import Graph
from headrace._runtime.stores import known_store, make_view
from headrace._state.bytes.api import ByteReader
from headrace.config import StreamsConfig
from headrace.model.processor import ProcessorWrapper
from headrace.model.stores.specs import StoreSpec
from headrace.model.time.timestamps import Extractor
from headrace.serdes import Json, Serde, String


@dataclass(frozen=True)
class Defaults:
    """The settings that operators need: default serdes and extractor, the timestamp guard, handlers, the wrapper.

    `single_event` says whether an update that leaves a row of a grouped table in its group is sent as one change event
    or, as Kafka Streams did up to 3.4, as two.
    """

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    extractor: Extractor
    single_event: bool
    guard: ops.TimestampGuard | None
    error_handlers: ErrorHandlers
    cache_max_bytes: int
    processor_settings: ProcessorSettings
    processor_wrapper: ProcessorWrapper | None

    @classmethod
    def of(cls, config: StreamsConfig) -> Defaults:
        key_serde, value_serde = config.default_key_serde or String(), config.default_value_serde or Json()
        return cls(
            key_serde,
            value_serde,
            config.default_timestamp_extractor,
            single_event=not config.writes_old_change_events,
            guard=_timestamp_guard(config),
            error_handlers=ErrorHandlers(
                config.deserialization_exception_handler,
                config.processing_exception_handler,
                config.production_exception_handler,
                config.dead_letter_topic,
            ),
            cache_max_bytes=config.statestore_cache_max_bytes,
            processor_settings=ProcessorSettings(_app_configs(config), key_serde, value_serde, config.state_dir),
            processor_wrapper=config.processor_wrapper,
        )

    def resolve_key(self, serde: Serde[Any] | None) -> Serde[Any]:
        """The serde for a node's keys: its own, or the default if it has none.

        Unlike values, keys may be read back as something else, e.g. a tuple from JSON as a list: only their bytes are
        compared.
        """
        return _resolve(serde, self.key_serde)

    def resolve_value(self, serde: Serde[Any] | None) -> Serde[Any]:
        """The serde for a node's values, which the topology reads back: its own, or the default if it has none."""
        return _resolve(serde, self.value_serde).read_back()

    def serdes(
        self, node: nodes.Source | nodes.Sink | nodes.DynamicSink | nodes.ForeignKeyNode | StoreSpec
    ) -> tuple[Serde[Any], Serde[Any]]:
        """The serdes for the keys and values of a topic or store, or of the messages of a foreign-key join."""
        if isinstance(node, nodes.Source | nodes.Sink) and not node.internal:
            return _resolve(node.key_serde, self.key_serde), _resolve(node.value_serde, self.value_serde)
        return self.resolve_key(node.key_serde), self.resolve_value(node.value_serde)

    def view(self, graph: Graph, name: str, parts: Sequence[ByteReader]) -> Any:
        """A read-only view of a store over the parts that its tasks hold."""
        store = known_store(graph, name)
        return make_view(store, parts, self.serdes(store))


def _resolve(serde: Serde[Any] | None, default: Serde[Any]) -> Serde[Any]:
    return (serde or default).with_default(default)


def _app_configs(config: StreamsConfig) -> dict[str, Any]:
    """What processors see as `context.app_configs`: the settings of the application, and the user's own `app_configs`.

    The settings of the Kafka client and of Spark are left out, because they may be secret.
    """
    names = [setting.name for setting in fields(config) if setting.name not in ("kafka", "spark", "app_configs")]
    return {**{name: getattr(config, name) for name in names}, **config.app_configs}


def _timestamp_guard(config: StreamsConfig) -> ops.TimestampGuard | None:
    ahead = config.max_timestamp_ahead
    if ahead is None:
        return None
    return ops.TimestampGuard(ahead // timedelta(milliseconds=1), config.timestamp_ahead_handler)
