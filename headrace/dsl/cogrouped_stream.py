"""`CogroupedKStream`: grouped streams folded together, each by its own aggregator, into one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar, overload

from headrace._graph.checks import checked_callable
from headrace._graph.names import checked_name
from headrace._graph.nodes import AggregateFold, CogroupMerge, StreamAggregate, WindowedAggregate
from headrace._graph.repartition import pass_over_repartition
from headrace._graph.stores import StoreSpec, TimestampedKeyValueSpec
from headrace._graph.windows.late_records import add_windowed_aggregate
from headrace._graph.windows.stores import checked_windows, window_store, windowed_key_serde
from headrace.dsl.ktable import KTable
from headrace.errors import TopologyError
from headrace.model.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows, Windowed, Windows
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")

_PREFIX = "COGROUPKSTREAM-AGGREGATE-"


class _Input(NamedTuple):
    """A grouped stream and what folds its records."""

    grouped: KGroupedStream[Any, Any]
    aggregator: Callable[[Any, Any, Any], Any]


# Adds the aggregation of an input, given what every node has and the names of the aggregations beside it.
_Add = Callable[[_Input, dict[str, Any], tuple[str, ...]], object]


class CogroupedKStream(Generic[K, A]):
    """Grouped streams with their aggregators, to be folded into one aggregate per key that they share.

    Every record of every input gives an update. Within a task records are taken in the order of their timestamps, as
    far as they are there. An input whose key may have changed is repartitioned; the topics of the others must have
    the same number of partitions.
    """

    def __init__(self, inputs: tuple[_Input, ...], repartitioned: dict[KGroupedStream[Any, Any], str]) -> None:
        self._inputs = inputs
        self._repartitioned = repartitioned
        self._graph = inputs[0].grouped._graph
        self._key_serde = inputs[0].grouped._key_serde

    @classmethod
    def _of(cls, grouped: KGroupedStream[K, V], aggregator: Callable[[K, V, A], A]) -> CogroupedKStream[K, A]:
        """A cogroup of one input."""
        checked_callable(aggregator, "cogroup", "aggregator(key, value, aggregate)")
        return cls((_Input(grouped, aggregator),), {})

    def cogroup(self, grouped: KGroupedStream[K, V], aggregator: Callable[[K, V, A], A]) -> CogroupedKStream[K, A]:
        """The same with one more input.

        Args:
            grouped: another grouped stream of the same `StreamsBuilder`, with keys of the same kind.
            aggregator: `aggregator(key, value, aggregate)` for its records.
        """
        if not isinstance(grouped, KGroupedStream):
            message = (
                f"cogroup() needs a KGroupedStream; got {grouped!r} of type {type(grouped).__name__}. "
                "Group the stream first, with group_by_key() or group_by(...)."
            )
            raise TopologyError(message)
        if grouped._graph is not self._graph:
            message = f"cogroup() needs streams of the same StreamsBuilder; {grouped!r} is of another one."
            raise TopologyError(message)
        if any(grouped is known for known, _ in self._inputs):
            message = (
                f"cogroup() was given {grouped!r} twice. To fold each of its records by two aggregators, group the "
                "stream once more, with group_by_key() or group_by(...)."
            )
            raise TopologyError(message)
        checked_callable(aggregator, "cogroup", "aggregator(key, value, aggregate)")
        return CogroupedKStream((*self._inputs, _Input(grouped, aggregator)), self._repartitioned)

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        store: str | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """One aggregate per key, starting from `initializer()`, into which the records of all inputs are folded.

        Records without a key or a value are dropped and counted. A result carries the highest timestamp of all records
        folded in since the aggregate last became non-null, of whichever input. An aggregator that answers `None`
        deletes the row; the next record starts from `initializer()` again.

        Args:
            initializer: makes the aggregate of a new key.
            store: name of the state store that all inputs share.
            value_serde: serde of the aggregate.
            name: `<name>-cogroup-merge` names the table, `<name>-cogroup-agg-0` and so on its inputs.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> left, right = builder.stream("left").group_by_key(), builder.stream("right").group_by_key()
            >>> both = left.cogroup(lambda key, value, seen: seen + value)
            >>> both = both.cogroup(right, lambda key, value, seen: f"{seen}*{value}")
            >>> both.aggregate(str, store="both").to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("left").pipe("k", "1", timestamp_ms=5)
            ...     driver.input_topic("right").pipe("k", "x", timestamp_ms=3)
            ...     driver.input_topic("left").pipe("k", "2", timestamp_ms=1)
            ...     [(record.value, record.timestamp_ms) for record in driver.output_topic("out").read_all()]
            [('1', 5), ('1*x', 5), ('1*x2', 5)]
        """
        checked_callable(initializer, "aggregate", "initializer()")
        kept = TimestampedKeyValueSpec(
            name=self._graph.names.store(store, _PREFIX), key_serde=self._key_serde, value_serde=value_serde
        )

        def add(source: _Input, node: dict[str, Any], _: tuple[str, ...]) -> None:
            self._graph.add(StreamAggregate(**node, initializer=initializer, aggregator=source.aggregator))

        return self._table(kept, name, self._key_serde, add)

    @overload
    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | UnlimitedWindows, *, late_to: str | None = None
    ) -> TimeWindowedCogroupedKStream[K, A]: ...

    @overload
    def windowed_by(
        self, windows: SessionWindows, *, late_to: str | None = None
    ) -> SessionWindowedCogroupedKStream[K, A]: ...

    def windowed_by(
        self, windows: Windows, *, late_to: str | None = None
    ) -> TimeWindowedCogroupedKStream[K, A] | SessionWindowedCogroupedKStream[K, A]:
        """The records of all inputs in windows, to be aggregated per key and window.

        Each input has its own stream time: its records are late by what came in the same input before them. The store
        forgets by the windows of all: where one input may lag behind another by more than the grace, give `aggregate`
        a store with a longer retention, or results of the one behind begin anew from `initializer()`.

        Args:
            windows: `TimeWindows`, `SlidingWindows`, `SessionWindows` or `UnlimitedWindows`.
            late_to: a topic for records of all inputs that come too late, as in `KGroupedStream.windowed_by`.
        """
        checked_windows(windows)
        topic = None if late_to is None else checked_name(late_to, "topic")
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(self, windows, topic)
        return TimeWindowedCogroupedKStream(self, windows, topic)

    def _table(self, kept: StoreSpec, name: str | None, key_serde: Serde[Any] | None, add: _Add) -> KTable[Any, Any]:
        """Adds the store, an aggregation for each input, and the table they make together."""
        names = self._graph.names
        own = None if name is None else f"{checked_name(name, 'node')}-cogroup"
        sources = self._sources(kept.name)
        self._graph.add_store(kept)
        aggregations = [
            names.node(None if own is None else f"{own}-agg-{position}", _PREFIX)
            for position in range(len(self._inputs))
        ]
        for position, (source, aggregation) in enumerate(zip(sources, aggregations, strict=True)):
            node = {"name": aggregation, "parents": (source,), "stores": (kept.name,)}
            add(self._inputs[position], node, (*aggregations[:position], *aggregations[position + 1 :]))
        merge = names.node(None if own is None else f"{own}-merge", "COGROUPKSTREAM-MERGE-")
        self._graph.add(CogroupMerge(name=merge, parents=tuple(aggregations)))
        return KTable(self._graph, merge, key_serde, kept.value_serde)

    def _sources(self, store_name: str) -> list[str]:
        """The nodes to aggregate from: behind repartitions, which all aggregations of a cogroup share.

        The first repartition without a name is called after the store, others after the store and their input.
        """
        sources: list[str] = []
        taken = False
        for position, (grouped, _) in enumerate(self._inputs):
            source = self._repartitioned.get(grouped)
            if source is not None:
                pass_over_repartition(self._graph)
            else:
                source = grouped._input(f"{store_name}-{position}" if taken else store_name)
                if grouped._repartition_required:
                    self._repartitioned[grouped] = source
                    taken = taken or grouped._name is None
            sources.append(source)
        for source in sources[1:]:
            self._graph.copartition("cogroup", sources[0], source)
        return sources

    def __repr__(self) -> str:
        return f"<CogroupedKStream of {', '.join(source.grouped._node for source in self._inputs)}>"


class _WindowedCogroup(Generic[K, A]):
    """What both kinds share."""

    def __init__(self, cogrouped: CogroupedKStream[K, A], windows: Windows, late_to: str | None) -> None:
        self._cogrouped = cogrouped
        self._windows = windows
        self._late_to = late_to

    def _aggregated(
        self,
        initializer: Callable[[], A],
        merger: Callable[[K, A, A], A] | None,
        store: Any,
        value_serde: Serde[Any] | None,
        name: str | None,
    ) -> KTable[Windowed[K], A]:
        checked_callable(initializer, "aggregate", "initializer()")
        graph, key_serde, windows = self._cogrouped._graph, self._cogrouped._key_serde, self._windows
        given = graph.names.store(None, _PREFIX) if store is None else store
        kept = window_store(given, windows, key_serde, value_serde)

        def add(source: _Input, node: dict[str, Any], others: tuple[str, ...]) -> None:
            aggregate = WindowedAggregate(
                **node,
                windows=windows,
                fold=AggregateFold(initializer, source.aggregator, merger),
                sharing=others,
            )
            grouped = source.grouped
            add_windowed_aggregate(graph, aggregate, self._late_to, grouped._key_serde, grouped._value_serde)

        return self._cogrouped._table(kept, name, windowed_key_serde(windows, key_serde), add)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._windows}>"


class TimeWindowedCogroupedKStream(_WindowedCogroup[K, A]):
    """Cogrouped records in time, sliding or unlimited windows: one result per key and window, of all inputs.

    As `TimeWindowedKStream`, with a stream time for each input. Results can be held back with `suppress`.
    """

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        store: Any = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """One aggregate per key and window, starting from `initializer()`.

        Args:
            initializer: makes the aggregate of a new window.
            store: name of the state store that all inputs share; or `Stores.window(...)`, to keep windows for longer.
            value_serde: serde of the aggregate.
            name: `<name>-cogroup-merge` names the table, `<name>-cogroup-agg-0` and so on its inputs.

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
        return self._aggregated(initializer, None, store, value_serde, name)


class SessionWindowedCogroupedKStream(_WindowedCogroup[K, A]):
    """Cogrouped records in sessions: a record of any input may extend or merge them. As `SessionWindowedKStream`."""

    def aggregate(
        self,
        initializer: Callable[[], A],
        merger: Callable[[K, A, A], A],
        *,
        store: Any = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """One aggregate per session; `merger(key, left, right)` makes one of two sessions."""
        checked_callable(merger, "aggregate", "merger(key, left, right)")
        return self._aggregated(initializer, merger, store, value_serde, name)


from headrace.dsl.grouped_stream import KGroupedStream  # noqa: E402  a grouped stream begins a cogroup
