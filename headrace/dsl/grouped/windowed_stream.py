"""`TimeWindowedKStream` and `SessionWindowedKStream`: grouped records in windows, to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import AggregateFold, CountFold, ReduceFold, WindowedAggregate
from headrace._graph.windows.late_sink import add_windowed_aggregate
from headrace._graph.windows.stores import window_store, windowed_key_serde
from headrace.dsl.handle import NodeOutput
from headrace.dsl.ktable import KTable
from headrace.dsl.type_variables import A, K
from headrace.errors import TopologyError
from headrace.model.arguments import checked_callable
from headrace.model.stores.specs import SessionSpec, StoreSpec, WindowSpec
from headrace.model.time.emission import EmitStrategy
from headrace.model.time.windows import AnyWindows, UnlimitedWindows, Windowed
from headrace.serdes import Long, Serde
from headrace.serdes.inferred import serde_of_results

V = TypeVar("V")


@dataclass(frozen=True)
class Grouping:
    """The input of a windowed aggregation. `input_for(store_name)` returns the node to aggregate from."""

    graph: GraphBuilder
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    windows: AnyWindows
    late_to: str | None
    input_for: Callable[[str], str]
    on_close: bool = False


class _WindowedKStream(Generic[K, V]):
    """Adds a windowed aggregation, for both kinds of windowed streams."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping

    def _with_strategy(self, strategy: EmitStrategy) -> Grouping:
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

    def _aggregate(
        self,
        prefix: str,
        fold: CountFold | ReduceFold | AggregateFold,
        store: str | StoreSpec | None,
        value_serde: Serde[Any] | None,
        name: str | None,
    ) -> KTable[Windowed[K], Any]:
        """Adds the store, the node and, with `late_to`, the sink of late records."""
        grouping = self._grouping
        graph, windows = grouping.graph, grouping.windows
        name_or_spec = graph.names.store(None, prefix) if store is None else store
        spec = window_store(name_or_spec, windows, grouping.key_serde, value_serde)
        node_name = graph.names.node(name, prefix)
        parent = grouping.input_for(spec.name)
        graph.add_store(spec)
        aggregate = WindowedAggregate(
            name=node_name,
            parents=(parent,),
            stores=(spec.name,),
            windows=windows,
            fold=fold,
            emit_on_close=grouping.on_close,
        )
        add_windowed_aggregate(graph, aggregate, grouping.late_to, grouping.key_serde, grouping.value_serde)
        output = NodeOutput(graph, node_name, windowed_key_serde(windows, spec.key_serde), spec.value_serde)
        return KTable._of_rows(output, spec, queryable=store is not None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._grouping.windows}>"


class TimeWindowedKStream(_WindowedKStream[K, V]):
    """Grouped records in windows of any kind but sessions, to be aggregated: one result per key and window.

    A window closes when stream time, the highest timestamp so far, reaches the end of the window plus the grace. A
    sliding window closes a millisecond later, because its end is inclusive. A record that arrives after its window has
    closed is late: it is dropped for that window and counted.

    A result has the highest timestamp of the records in its window. Records without a key are dropped and counted. A
    value of `None` is passed to your functions, except with sliding windows, which drop and count such records.
    """

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        """Returns the same stream, with results emitted on every update or only when their window closes.

        Args:
            strategy: `EmitStrategy.on_window_update()`, the default, or `EmitStrategy.on_window_close()`.

        Raises:
            TopologyError: for `on_window_close()` with unlimited windows, which never close.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import run_stream
            >>> def final_counts(stream):
            ...     grouped = stream.group_by_key().windowed_by(hr.TimeWindows.of(timedelta(milliseconds=10)))
            ...     return grouped.emit_strategy(hr.EmitStrategy.on_window_close()).count().to_stream()
            >>> [(str(record.key), record.value) for record in run_stream(final_counts, ("k", 1, 0), ("k", 2, 10))]
            [('[k@0/10]', 1)]
        """
        return TimeWindowedKStream(self._with_strategy(strategy))

    def count(self, *, store: str | WindowSpec | None = None, name: str | None = None) -> KTable[Windowed[K], int]:
        """Counts the records of each key and window.

        Args:
            store: a name for the state store, so that you can query it; or a spec, `Stores.window(...)`, to keep
                windows for longer than they accept records. Default: a generated name.
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
        return self._aggregate("KSTREAM-AGGREGATE-", CountFold(), store, Long(), name)

    def reduce(
        self,
        reducer: Callable[[V, V], V | None],
        *,
        store: str | WindowSpec | None = None,
        value_serde: Serde[V] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """Reduces the values of each key and window to one: the first value, then `reducer(aggregate, value)`.

        If the reducer returns `None`, the row is deleted, and the next record of the window starts over.

        Args:
            reducer: returns the new aggregate.
            store: as in `count`.
            value_serde: serde of the aggregates; default: the serde of the stream's values.
            name: name of the operator.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import run_stream
            >>> def highest(stream):
            ...     windows = hr.TimeWindows.of(timedelta(milliseconds=10))
            ...     return stream.group_by_key().windowed_by(windows).reduce(max).to_stream()
            >>> [str(record.key) for record in run_stream(highest, ("k", 3, 0), ("k", 9, 5), ("k", 4, 12))]
            ['[k@0/10]', '[k@0/10]', '[k@10/20]']
        """
        checked_callable(reducer, "reduce", "reducer(aggregate, value)")
        serde = value_serde or self._grouping.value_serde
        return self._aggregate("KSTREAM-REDUCE-", ReduceFold(reducer), store, serde, name)

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A | None],
        *,
        store: str | WindowSpec | None = None,
        value_serde: Serde[A] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Aggregates the records of each key and window, starting from `initializer()`.

        If the aggregator returns `None`, the row is deleted, and the next record of the window starts over.

        Args:
            initializer: returns the aggregate of a new window, e.g. `list`.
            aggregator: `aggregator(key, value, aggregate)` returns the new aggregate. It may change `aggregate`, a copy
                from the store, in place.
            store: as in `count`.
            value_serde: serde of the aggregates. Default: the setting `default_value_serde`. If that is JSON without a
                type, aggregates are read back as the type of the initializer: its own if it is a class, or its
                annotated return type.
            name: name of the operator.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import run_stream
            >>> def values(stream):
            ...     grouped = stream.group_by_key().windowed_by(hr.TimeWindows.of(timedelta(milliseconds=10)))
            ...     return grouped.aggregate(list, lambda key, value, values: [*values, value]).to_stream()
            >>> [record.value for record in run_stream(values, ("k", 3, 0), ("k", 9, 5), ("k", 4, 12))]
            [[3], [3, 9], [4]]
        """
        checked_callable(initializer, "aggregate", "initializer()")
        checked_callable(aggregator, "aggregate", "aggregator(key, value, aggregate)")
        serde = value_serde or serde_of_results(initializer)
        return self._aggregate("KSTREAM-AGGREGATE-", AggregateFold(initializer, aggregator), store, serde, name)


class SessionWindowedKStream(_WindowedKStream[K, V]):
    """Grouped records in sessions, to be aggregated: one result per key and session.

    The timestamp of a result is the end of its session. If a record extends a session or merges two, the results of the
    old sessions are deleted first: for each, a change to `None` is emitted, with the end of the old session as its
    timestamp. Then the result of the new session is emitted. With `EmitStrategy.on_window_close()` only final results
    are emitted, and no deletions.

    A session closes when stream time is beyond its end plus the gap and the grace. A record whose session has closed is
    late: it is dropped and counted. So are records without a key. A value of `None` is passed to your functions.
    """

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """Returns the same stream, with results emitted on every update or only when their session closes.

        Args:
            strategy: `EmitStrategy.on_window_update()`, the default, or `EmitStrategy.on_window_close()`.
        """
        return SessionWindowedKStream(self._with_strategy(strategy))

    def count(self, *, store: str | SessionSpec | None = None, name: str | None = None) -> KTable[Windowed[K], int]:
        """Counts the records of each session.

        Args:
            store: a name for the state store, so that you can query it; or a spec, `Stores.session(...)`, to keep
                sessions for longer than they accept records. Default: a generated name.
            name: name of the operator.

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
        return self._aggregate("KSTREAM-AGGREGATE-", CountFold(), store, Long(), name)

    def reduce(
        self,
        reducer: Callable[[V, V], V | None],
        *,
        store: str | SessionSpec | None = None,
        value_serde: Serde[V] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """Reduces the values of each session to one: the first value, then `reducer(aggregate, value)`.

        If sessions merge, the reducer also combines their aggregates, the earlier session first. If it returns `None`,
        the row is deleted.

        Args:
            reducer: returns the new aggregate.
            store: as in `count`.
            value_serde: serde of the aggregates; default: the serde of the stream's values.
            name: name of the operator.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import run_stream
            >>> def highest(stream):
            ...     sessions = hr.SessionWindows.of(timedelta(milliseconds=5))
            ...     return stream.group_by_key().windowed_by(sessions).reduce(max).to_stream()
            >>> [(str(record.key), record.value) for record in run_stream(highest, ("k", 3, 0), ("k", 2, 4))]
            [('[k@0/0]', 3), ('[k@0/0]', None), ('[k@0/4]', 3)]
        """
        checked_callable(reducer, "reduce", "reducer(aggregate, value)")
        serde = value_serde or self._grouping.value_serde
        return self._aggregate("KSTREAM-REDUCE-", ReduceFold(reducer), store, serde, name)

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A | None],
        merger: Callable[[K, A, A], A],
        *,
        store: str | SessionSpec | None = None,
        value_serde: Serde[A] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Aggregates the records of each session, starting from `initializer()`.

        If the aggregator returns `None`, the row is deleted.

        Args:
            initializer: returns the aggregate of a new session, e.g. `list`.
            aggregator: `aggregator(key, value, aggregate)` returns the new aggregate.
            merger: `merger(key, left, right)` returns the aggregate of two sessions, the earlier one on the left. For
                every record, the aggregates of the existing sessions are merged into a new `initializer()` on the left,
                then `aggregator` adds the record.
            store: as in `count`.
            value_serde: serde of the aggregates. Default: the setting `default_value_serde`. If that is JSON without a
                type, aggregates are read back as the type of the initializer: its own if it is a class, or its
                annotated return type.
            name: name of the operator.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import run_stream
            >>> def values(stream):
            ...     grouped = stream.group_by_key().windowed_by(hr.SessionWindows.of(timedelta(milliseconds=5)))
            ...     add, merge = lambda key, value, values: [*values, value], lambda key, left, right: left + right
            ...     return grouped.aggregate(list, add, merge).to_stream()
            >>> [(str(record.key), record.value) for record in run_stream(values, ("k", 3, 0), ("k", 2, 4))]
            [('[k@0/0]', [3]), ('[k@0/0]', None), ('[k@0/4]', [3, 2])]
        """
        checked_callable(initializer, "aggregate", "initializer()")
        checked_callable(aggregator, "aggregate", "aggregator(key, value, aggregate)")
        checked_callable(merger, "aggregate", "merger(key, left, right)")
        serde = value_serde or serde_of_results(initializer)
        return self._aggregate("KSTREAM-AGGREGATE-", AggregateFold(initializer, aggregator, merger), store, serde, name)
