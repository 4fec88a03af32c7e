"""`TimeWindowedKStream` and `SessionWindowedKStream`: grouped records in windows, waiting to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from headrace._graph.checks import checked_callable
from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import AggregateFold, CountFold, ReduceFold, WindowedAggregate
from headrace._graph.windows.late_records import add_windowed_aggregate
from headrace._graph.windows.stores import window_store, windowed_key_serde
from headrace.dsl.ktable import KTable
from headrace.errors import TopologyError
from headrace.model.emission import EmitStrategy
from headrace.model.windows import UnlimitedWindows, Windowed, Windows
from headrace.serdes import Long, Serde

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


@dataclass(frozen=True)
class Grouping:
    """Where windowed aggregations get their records; `input_for` gives the node to aggregate from, for a store."""

    graph: GraphBuilder
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    windows: Windows
    late_to: str | None
    input_for: Callable[[str], str]
    on_close: bool = False


class _Windowed(Generic[K, V]):
    """What both kinds share."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping

    def _emitting(self, strategy: EmitStrategy) -> Grouping:
        if not isinstance(strategy, EmitStrategy):
            message = (
                f"emit_strategy() was given {strategy!r}; allowed: EmitStrategy.on_window_update(), "
                "EmitStrategy.on_window_close()."
            )
            raise TopologyError(message)
        if strategy.on_close and isinstance(self._grouping.windows, UnlimitedWindows):
            message = "emit_strategy(): unlimited windows never close; write them with EmitStrategy.on_window_update()."
            raise TopologyError(message)
        return replace(self._grouping, on_close=strategy.on_close)

    def _aggregated(
        self,
        prefix: str,
        fold: CountFold | ReduceFold | AggregateFold,
        store: Any,
        value_serde: Serde[Any] | None,
        name: str | None,
    ) -> KTable[Windowed[K], Any]:
        """Adds store, node and, if asked for, the sink of late records."""
        grouping = self._grouping
        graph, windows = grouping.graph, grouping.windows
        given = graph.names.store(None, prefix) if store is None else store
        kept = window_store(given, windows, grouping.key_serde, value_serde)
        node_name = graph.names.node(name, prefix)
        parent = grouping.input_for(kept.name)
        graph.add_store(kept)
        aggregate = WindowedAggregate(
            name=node_name,
            parents=(parent,),
            stores=(kept.name,),
            windows=windows,
            fold=fold,
            emit_on_close=grouping.on_close,
        )
        add_windowed_aggregate(graph, aggregate, grouping.late_to, grouping.key_serde, grouping.value_serde)
        return KTable(graph, node_name, windowed_key_serde(windows, grouping.key_serde), value_serde)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._grouping.windows}>"


class TimeWindowedKStream(_Windowed[K, V]):
    """Grouped records in time, sliding or unlimited windows: one result per key and window.

    A window closes when the stream time, the highest timestamp seen, reaches its end plus grace. A record that comes
    later is dropped for that window and counted. Results carry the highest timestamp in their window. Null keys are
    dropped and counted; null values are given to your functions, but sliding windows drop and count them.
    """

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        """The same, with results written on every update or only when their window closes."""
        return TimeWindowedKStream(self._emitting(strategy))

    def count(self, *, store: Any = None, name: str | None = None) -> KTable[Windowed[K], int]:
        """How many records each key has in each window.

        Args:
            store: name of the state store, to query it; or `Stores.window(...)`, to keep windows for longer.
            name: name of the operator.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> windows = hr.TimeWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=5))
            >>> builder.stream("in").group_by_key().windowed_by(windows).count().to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     for timestamp_ms in (3, 12, 7, 15, 9):
            ...         driver.input_topic("in").pipe("k", "v", timestamp_ms)
            ...     for record in driver.output_topic("out").read_all():
            ...         print(record.key, record.value, record.timestamp_ms)
            [k@0/10] 1 3
            [k@10/20] 1 12
            [k@0/10] 2 7
            [k@10/20] 2 15
        """
        return self._aggregated("KSTREAM-AGGREGATE-", CountFold(), store, Long(), name)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        store: Any = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """One value per key and window: the first, then `reducer(aggregate, value)`; `None` deletes the row."""
        checked_callable(reducer, "reduce", "reducer(aggregate, value)")
        serde = value_serde or self._grouping.value_serde
        return self._aggregated("KSTREAM-REDUCE-", ReduceFold(reducer), store, serde, name)

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        *,
        store: Any = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """One aggregate per key and window: `aggregator(key, value, aggregate)`, starting from `initializer()`."""
        checked_callable(initializer, "aggregate", "initializer()")
        checked_callable(aggregator, "aggregate", "aggregator(key, value, aggregate)")
        return self._aggregated("KSTREAM-AGGREGATE-", AggregateFold(initializer, aggregator), store, value_serde, name)


class SessionWindowedKStream(_Windowed[K, V]):
    """Grouped records in sessions: one result per key and session.

    A record that joins sessions deletes their results, each at its own end, and writes that of the merged session. A
    result's timestamp is the end of its session. A record whose session ended too long ago is dropped and counted.
    """

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """The same, with results written on every update or only when their session closes."""
        return SessionWindowedKStream(self._emitting(strategy))

    def count(self, *, store: Any = None, name: str | None = None) -> KTable[Windowed[K], int]:
        """How many records each session of a key has.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> sessions = hr.SessionWindows.of(timedelta(milliseconds=5))
            >>> builder.stream("in").group_by_key().windowed_by(sessions).count().to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     for timestamp_ms in (0, 4, 20):
            ...         driver.input_topic("in").pipe("k", "v", timestamp_ms)
            ...     for record in driver.output_topic("out").read_all():
            ...         print(record.key, record.value, record.timestamp_ms)
            [k@0/0] 1 0
            [k@0/0] None 0
            [k@0/4] 2 4
            [k@20/20] 1 20
        """
        return self._aggregated("KSTREAM-AGGREGATE-", CountFold(), store, Long(), name)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        store: Any = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """One value per session: `reducer(aggregate, value)`, also for the values of two sessions that merge."""
        checked_callable(reducer, "reduce", "reducer(aggregate, value)")
        serde = value_serde or self._grouping.value_serde
        return self._aggregated("KSTREAM-REDUCE-", ReduceFold(reducer), store, serde, name)

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        merger: Callable[[K, A, A], A],
        *,
        store: Any = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """One aggregate per session; `merger(key, left, right)` makes one of two sessions."""
        checked_callable(initializer, "aggregate", "initializer()")
        checked_callable(aggregator, "aggregate", "aggregator(key, value, aggregate)")
        checked_callable(merger, "aggregate", "merger(key, left, right)")
        return self._aggregated(
            "KSTREAM-AGGREGATE-", AggregateFold(initializer, aggregator, merger), store, value_serde, name
        )
