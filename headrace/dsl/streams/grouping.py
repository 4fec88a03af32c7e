"""Grouping a stream by key, to aggregate it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace._graph.names import checked_name
from headrace._graph.nodes import SelectKey
from headrace.dsl.handle import NodeOutput
from headrace.dsl.streams.handle import StreamHandle
from headrace.dsl.type_variables import K2, K, Key, V, Value
from headrace.model.arguments import checked_callable
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.grouped.grouped_stream import KGroupedStream


class StreamGrouping(StreamHandle[K, V]):
    """The operators of `KStream` that group records."""

    def group_by_key(
        self: StreamGrouping[Key, Value | None],
        *,
        key_serde: Serde[Key] | None = None,
        value_serde: Serde[Value] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K, V]:
        """Groups the records by their key, to aggregate them; repartitions only if the key may have changed.

        Args:
            key_serde: serde of the keys in the repartition and the store; default: the stream's.
            value_serde: serde of the values in the repartition; default: the stream's.
            name: names the repartition topic, if there is one: `<name>-repartition`. Name it so that aggregations of
                this grouping share it.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.group_by_key().count().to_stream(), ("a", "x", 10), ("a", "y", 9))
            [Record(key='a', value=1, timestamp_ms=10), Record(key='a', value=2, timestamp_ms=10)]
        """
        from headrace.dsl.grouped.grouped_stream import KGroupedStream  # aggregations make tables, and tables streams

        return KGroupedStream(
            NodeOutput(self._graph, self._node, key_serde or self._key_serde, value_serde or self._value_serde),
            repartition_required=self._repartition_required,
            name=None if name is None else checked_name(name, "repartition"),
        )

    def group_by(
        self: StreamGrouping[Key, Value | None],
        selector: Callable[[K, V], K2 | None],
        *,
        key_serde: Serde[K2] | None = None,
        value_serde: Serde[Value] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K2, V]:
        """Groups the records by a new key, `selector(key, value)`, to aggregate them. Always repartitions.

        Records whose new key is `None` are dropped and counted.

        Args:
            selector: returns the new key of a record.
            key_serde: serde of the new keys in the repartition and the store; default: the setting
                `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values in the repartition; default: the stream's.
            name: names the operator, and the repartition topic: `<name>-repartition`. Name it so that aggregations of
                this grouping share the topic.

        Example:
            >>> from headrace.testing import run_stream
            >>> def per_word(stream):
            ...     return stream.group_by(lambda key, value: value).count().to_stream()
            >>> run_stream(per_word, ("a", "x", 10), ("b", "x", 9))
            [Record(key='x', value=1, timestamp_ms=10), Record(key='x', value=2, timestamp_ms=10)]
        """
        from headrace.dsl.grouped.grouped_stream import KGroupedStream

        checked_callable(selector, "group_by", "selector(key, value)")
        node = self._add(SelectKey, "KSTREAM-KEY-SELECT-", name, selector=selector)
        output = NodeOutput(self._graph, node, key_serde, value_serde or self._value_serde)
        return KGroupedStream(output, repartition_required=True, name=name)
