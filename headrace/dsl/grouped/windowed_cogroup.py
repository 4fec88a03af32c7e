"""`TimeWindowedCogroupedKStream` and `SessionWindowedCogroupedKStream`: cogrouped records in windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from headrace._graph.nodes import AggregateFold, WindowedAggregate
from headrace._graph.windows.late_sink import add_windowed_aggregate
from headrace._graph.windows.stores import window_store, windowed_key_serde
from headrace.dsl.grouped.cogrouped_stream import PREFIX, CogroupedKStream, Input
from headrace.dsl.ktable import KTable
from headrace.dsl.type_variables import A, K
from headrace.model.arguments import checked_callable
from headrace.model.stores.specs import SessionSpec, StoreSpec, WindowSpec
from headrace.model.time.windows import AnyWindows, Windowed
from headrace.serdes import Serde
from headrace.serdes.inferred import serde_of_results


class _WindowedCogroup(Generic[K, A]):
    """Adds a windowed aggregation of all inputs, for both kinds of windowed cogroups."""

    def __init__(self, cogrouped: CogroupedKStream[K, A], windows: AnyWindows, late_to: str | None) -> None:
        self._cogrouped = cogrouped
        self._windows = windows
        self._late_to = late_to

    def _aggregate(
        self,
        initializer: Callable[[], A],
        merger: Callable[[K, A, A], A] | None,
        store: str | StoreSpec | None,
        value_serde: Serde[Any] | None,
        name: str | None,
    ) -> KTable[Windowed[K], A]:
        checked_callable(initializer, "aggregate", "initializer()")
        graph, key_serde, windows = self._cogrouped._graph, self._cogrouped._key_serde, self._windows
        name_or_spec = graph.names.store(None, PREFIX) if store is None else store
        spec = window_store(name_or_spec, windows, key_serde, value_serde or serde_of_results(initializer))

        def add(source: Input, node: dict[str, Any], others: tuple[str, ...]) -> None:
            aggregate = WindowedAggregate(
                **node,
                windows=windows,
                fold=AggregateFold(initializer, source.aggregator, merger),
                sharing=others,
            )
            grouped = source.grouped
            add_windowed_aggregate(graph, aggregate, self._late_to, grouped._key_serde, grouped._value_serde)

        return self._cogrouped._table(
            spec, name, windowed_key_serde(windows, spec.key_serde), add, queryable=store is not None
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._windows}>"


class TimeWindowedCogroupedKStream(_WindowedCogroup[K, A]):
    """The records of a cogroup in windows (any but sessions): one result per key and window, for all inputs together.

    Windows close, and results have timestamps, as in `TimeWindowedKStream`, but each input has its own stream time.
    There is no `emit_strategy`; use `KTable.suppress` to emit only final results.
    """

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        store: str | WindowSpec | None = None,
        value_serde: Serde[A] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Aggregates the records of all inputs by key and window, starting from `initializer()`.

        Args:
            initializer: returns the aggregate of a new window.
            store: a name for the state store that all inputs share; or a spec, `Stores.window(...)`, to keep windows
                for longer.
            value_serde: serde of the aggregates; the default is that of `KGroupedStream.aggregate`.
            name: names the table `<name>-cogroup-merge`, and the operators of its inputs `<name>-cogroup-agg-0` and so
                on.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> left, right = builder.stream("left").group_by_key(), builder.stream("right").group_by_key()
            >>> both = left.cogroup(lambda key, value, seen: seen + 1).cogroup(right, lambda key, value, seen: seen - 1)
            >>> windows = hr.TimeWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=5))
            >>> both.windowed_by(windows).aggregate(int).to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     for topic, timestamp_ms in [("left", 3), ("left", 7), ("left", 12), ("right", 5)]:
            ...         driver.input_topic(topic).pipe("k", "v", timestamp_ms)
            ...     for record in driver.output_topic("out").read_all():
            ...         print(record.key, record.value, record.timestamp_ms)
            [k@0/10] 1 3
            [k@0/10] 2 7
            [k@10/20] 1 12
            [k@0/10] 1 7
        """
        return self._aggregate(initializer, None, store, value_serde, name)


class SessionWindowedCogroupedKStream(_WindowedCogroup[K, A]):
    """The records of a cogroup in sessions: one result per key and session, for all inputs together.

    A record of any input can extend or merge sessions. See `SessionWindowedKStream` for timestamps and late records.
    """

    def aggregate(
        self,
        initializer: Callable[[], A],
        merger: Callable[[K, A, A], A],
        *,
        store: str | SessionSpec | None = None,
        value_serde: Serde[A] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Aggregates the records of each session, of all inputs, starting from `initializer()`.

        Args:
            initializer: returns the aggregate of a new session.
            merger: `merger(key, left, right)` returns the aggregate of two sessions, the earlier one on the left. For
                every record, the aggregates of the existing sessions are merged into a new `initializer()` on the left,
                then the aggregator of its input adds the record.
            store: a name for the state store that all inputs share; or a spec, `Stores.session(...)`, to keep sessions
                for longer.
            value_serde: serde of the aggregates; the default is that of `KGroupedStream.aggregate`.
            name: names the table `<name>-cogroup-merge`, and the operators of its inputs `<name>-cogroup-agg-0` and so
                on.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> left, right = builder.stream("left").group_by_key(), builder.stream("right").group_by_key()
            >>> both = left.cogroup(lambda key, value, seen: seen + 1).cogroup(right, lambda key, value, seen: seen - 1)
            >>> sessions = both.windowed_by(hr.SessionWindows.of(timedelta(milliseconds=5)))
            >>> sessions.aggregate(int, lambda key, left, right: left + right).to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("left").pipe("k", "v", timestamp_ms=0)
            ...     driver.input_topic("right").pipe("k", "v", timestamp_ms=4)
            ...     [(str(record.key), record.value) for record in driver.output_topic("out").read_all()]
            [('[k@0/0]', 1), ('[k@0/0]', None), ('[k@0/4]', 0)]
        """
        checked_callable(merger, "aggregate", "merger(key, left, right)")
        return self._aggregate(initializer, merger, store, value_serde, name)
