"""Stateless operators of a stream: each record is filtered, mapped, observed, merged or routed on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headrace._graph.nodes import (
    Filter,
    FlatMap,
    FlatMapValues,
    FlatMapValuesWithKey,
    Map,
    MapValues,
    MapValuesWithKey,
    PassThrough,
    Peek,
    SelectKey,
)
from headrace.dsl.streams.handle import StreamHandle
from headrace.dsl.type_variables import K2, V2, K, V
from headrace.errors import TopologyError
from headrace.model.arguments import checked_callable
from headrace.serdes import Serde
from headrace.serdes.inferred import serde_of_entries, serde_of_results

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.dsl.streams.branches import BranchedKStream


class StatelessOperators(StreamHandle[K, V]):
    """The stateless operators of `KStream`."""

    def filter(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Keeps the records for which `predicate(key, value)` is true.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.filter(lambda key, value: value > 1), ("a", 1, 10), ("a", 2, 11))
            [Record(key='a', value=2, timestamp_ms=11)]
        """
        checked_callable(predicate, "filter", "predicate(key, value)")
        node = self._add(Filter, "KSTREAM-FILTER-", name, predicate=predicate)
        return self._derive_same_key(node, self._value_serde)

    def filter_not(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Drops the records for which `predicate(key, value)` is true.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.filter_not(lambda key, value: value > 1), ("a", 1, 10), ("a", 2, 11))
            [Record(key='a', value=1, timestamp_ms=10)]
        """
        checked_callable(predicate, "filter_not", "predicate(key, value)")
        node = self._add(Filter, "KSTREAM-FILTER-", name, predicate=predicate, keep=False)
        return self._derive_same_key(node, self._value_serde)

    def map(self, mapper: Callable[[K, V], tuple[K2, V2]], *, name: str | None = None) -> KStream[K2, V2]:
        """Replaces key and value with the pair that `mapper(key, value)` returns. Marks the stream for repartitioning.

        The result does not have the stream's serdes: operators that need serdes use the configured ones, unless you
        pass others.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.map(lambda key, value: (value, key)), ("a", "b", 10))
            [Record(key='b', value='a', timestamp_ms=10)]
        """
        checked_callable(mapper, "map", "mapper(key, value) -> (key, value)")
        return self._derive_new_key(self._add(Map, "KSTREAM-MAP-", name, mapper=mapper))

    def map_values(self, mapper: Callable[[V], V2], *, name: str | None = None) -> KStream[K, V2]:
        """Replaces the value with `mapper(value)`; key and partitioning stay.

        The mapper is also called for a value of `None`. The stream keeps its value serde only if that serde writes the
        type that the mapper returns, known from its annotation or because it is a method such as `str.upper`.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.map_values(lambda value: value * 2), ("a", 4, 10))
            [Record(key='a', value=8, timestamp_ms=10)]
        """
        checked_callable(mapper, "map_values", "mapper(value)")
        node = self._add(MapValues, "KSTREAM-MAPVALUES-", name, mapper=mapper)
        return self._derive_same_key(node, serde_of_results(mapper, self._value_serde))

    def map_values_with_key(self, mapper: Callable[[K, V], V2], *, name: str | None = None) -> KStream[K, V2]:
        """Replaces the value with `mapper(key, value)`; otherwise the same as `map_values`.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.map_values_with_key(lambda key, value: f"{key}:{value}"), ("a", 4, 10))
            [Record(key='a', value='a:4', timestamp_ms=10)]
        """
        checked_callable(mapper, "map_values_with_key", "mapper(key, value)")
        node = self._add(MapValuesWithKey, "KSTREAM-MAPVALUES-", name, mapper=mapper)
        return self._derive_same_key(node, serde_of_results(mapper, self._value_serde))

    def flat_map(
        self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """Replaces each record with the `(key, value)` pairs that `mapper(key, value)` returns, in their order.

        The new records have the timestamp of the old one. Marks the stream for repartitioning. As with
        `map`, the result does not have the stream's serdes.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.flat_map(lambda key, value: [(c, key) for c in value]), ("a", "xy", 1))
            [Record(key='x', value='a', timestamp_ms=1), Record(key='y', value='a', timestamp_ms=1)]
        """
        checked_callable(mapper, "flat_map", "mapper(key, value) -> iterable of (key, value)")
        return self._derive_new_key(self._add(FlatMap, "KSTREAM-FLATMAP-", name, mapper=mapper))

    def flat_map_values(self, mapper: Callable[[V], Iterable[V2]], *, name: str | None = None) -> KStream[K, V2]:
        """Replaces each record with one record for every value that `mapper(value)` returns, in their order.

        The new records have the key and the timestamp of the old one; the partitioning stays. The stream keeps its
        value serde only if that serde writes the type of the returned values, known from the mapper's annotation, e.g.
        `list[str]`, or because the mapper is a method such as `str.split`.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.flat_map_values(str.split), ("a", "to be", 10))
            [Record(key='a', value='to', timestamp_ms=10), Record(key='a', value='be', timestamp_ms=10)]
        """
        checked_callable(mapper, "flat_map_values", "mapper(value) -> iterable of values")
        node = self._add(FlatMapValues, "KSTREAM-FLATMAPVALUES-", name, mapper=mapper)
        return self._derive_same_key(node, serde_of_entries(mapper, self._value_serde))

    def flat_map_values_with_key(
        self, mapper: Callable[[K, V], Iterable[V2]], *, name: str | None = None
    ) -> KStream[K, V2]:
        """Replaces each record with one record for every value that `mapper(key, value)` returns, in their order.

        The new records have the key and the timestamp of the old one; the partitioning stays. The result does not
        have the stream's value serde: operators that need one use the configured one, unless you pass another.

        Example:
            >>> from headrace.testing import run_stream
            >>> def numbered(stream):
            ...     return stream.flat_map_values_with_key(lambda key, value: [f"{key}{i}" for i in range(value)])
            >>> run_stream(numbered, ("a", 2, 10))
            [Record(key='a', value='a0', timestamp_ms=10), Record(key='a', value='a1', timestamp_ms=10)]
        """
        checked_callable(mapper, "flat_map_values_with_key", "mapper(key, value) -> iterable of values")
        node = self._add(FlatMapValuesWithKey, "KSTREAM-FLATMAPVALUES-", name, mapper=mapper)
        return self._derive_same_key(node, None)

    def select_key(
        self, selector: Callable[[K, V], K2], *, key_serde: Serde[K2] | None = None, name: str | None = None
    ) -> KStream[K2, V]:
        """Replaces the key with `selector(key, value)`. Marks the stream for repartitioning.

        Args:
            selector: returns the new key; it may be `None`.
            key_serde: serde of the new keys; default: the setting `default_key_serde`, else `serdes.String()`.
            name: name of the operator.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.select_key(lambda key, value: value[0]), ("a", "xy", 10))
            [Record(key='x', value='xy', timestamp_ms=10)]
        """
        checked_callable(selector, "select_key", "selector(key, value)")
        node = self._add(SelectKey, "KSTREAM-KEY-SELECT-", name, selector=selector)
        return self._derive(node, key_serde, self._value_serde, repartition_required=True)

    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Calls `action(key, value)` for each record, and passes the record on.

        On Spark the action runs on the workers. It runs again for records of a micro-batch that is repeated after a
        failure.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.peek(print), ("a", 1, 10))
            a 1
            [Record(key='a', value=1, timestamp_ms=10)]
        """
        checked_callable(action, "peek", "action(key, value)")
        return self._derive_same_key(self._add(Peek, "KSTREAM-PEEK-", name, action=action), self._value_serde)

    def merge(self, other: KStream[K, V], *, name: str | None = None) -> KStream[K, V]:
        """Combines the records of both streams in one.

        The records of each stream keep their order. Among both, the record with the smaller timestamp comes first. The
        result has the serdes that both streams have in common.

        Example:
            >>> from headrace.testing import run_stream
            >>> def both(stream):
            ...     upper, lower = stream.map_values(str.upper), stream.map_values(str.lower)
            ...     return upper.merge(lower)
            >>> run_stream(both, ("a", "x", 10))
            [Record(key='a', value='X', timestamp_ms=10), Record(key='a', value='x', timestamp_ms=10)]
        """
        if not isinstance(other, StreamHandle):
            message = f"merge() needs another KStream; got {other!r} of type {type(other).__name__}."
            raise TopologyError(message)
        if other._graph is not self._graph:
            message = "merge() needs two streams of the same StreamsBuilder."
            raise TopologyError(message)
        node = PassThrough(name=self._graph.names.node(name, "KSTREAM-MERGE-"), parents=(self._node, other._node))
        self._graph.add(node)
        return self._derive(
            node.name,
            self._key_serde if self._key_serde == other._key_serde else None,
            self._value_serde if self._value_serde == other._value_serde else None,
            repartition_required=self._repartition_required or other._repartition_required,
        )

    def split(self, *, name: str | None = None) -> BranchedKStream[K, V]:
        """Starts a split into branches: each record goes to the first branch whose predicate is true.

        Args:
            name: a prefix for the nodes of the branches: `split(name="by-size-")` with a branch "big" has a node
                "by-size-big". The dict of branches has the branch under "big", without the prefix that Kafka Streams
                adds.

        Example:
            >>> from headrace.testing import run_stream
            >>> def sizes(stream):
            ...     branches = (
            ...         stream.split().branch(lambda key, value: value > 9, name="big").default(name="small")
            ...     )
            ...     return branches["small"].map_values(lambda value: -value).merge(branches["big"])
            >>> run_stream(sizes, ("a", 10, 1), ("a", 2, 2))
            [Record(key='a', value=10, timestamp_ms=1), Record(key='a', value=-2, timestamp_ms=2)]
        """
        from headrace.dsl.streams.branches import BranchedKStream  # a stream is split into streams

        return BranchedKStream(self, self._graph.names.node(name, "KSTREAM-BRANCH-"))
