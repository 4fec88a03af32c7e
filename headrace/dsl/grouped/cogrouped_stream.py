"""`CogroupedKStream`: several grouped streams, each with its own aggregator, that update one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from headrace._graph.names import checked_name
from headrace._graph.nodes import CogroupMerge, StreamAggregate
from headrace._graph.repartition import pass_over_repartition
from headrace._graph.tables.materialized import result_store_spec
from headrace._graph.windows.stores import checked_windows
from headrace.dsl.handle import NodeOutput
from headrace.dsl.ktable import KTable
from headrace.dsl.type_variables import A, K
from headrace.errors import TopologyError
from headrace.model.arguments import checked_callable
from headrace.model.stores.specs import StoreSpec, TableStore
from headrace.model.time.windows import (
    AnyWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    Windows,
)
from headrace.serdes import Serde
from headrace.serdes.inferred import serde_of_results

if TYPE_CHECKING:
    from headrace.dsl.grouped.grouped_stream import KGroupedStream
    from headrace.dsl.grouped.windowed_cogroup import SessionWindowedCogroupedKStream, TimeWindowedCogroupedKStream

V = TypeVar("V")

PREFIX = "COGROUPKSTREAM-AGGREGATE-"


class Input(NamedTuple):
    """A grouped stream and the aggregator of its records."""

    grouped: KGroupedStream[Any, Any]
    aggregator: Callable[[Any, Any, Any], Any]


# Adds the aggregation of an input to the graph. It is called with the input, the fields that every node of an
# aggregation has (`name`, `parents`, `stores`), and the names of the nodes that aggregate the other inputs.
_Add = Callable[[Input, dict[str, Any], tuple[str, ...]], object]


class CogroupedKStream(Generic[K, A]):
    """Several grouped streams, the inputs, each with its own aggregator, which together update one aggregate per key.

    Every record of any input emits an updated result. A task processes the available records of all inputs in the order
    of their timestamps. Inputs whose key may have changed are repartitioned; the topics of the other inputs must have
    the same number of partitions.
    """

    def __init__(self, inputs: tuple[Input, ...], repartitioned: dict[KGroupedStream[Any, Any], str]) -> None:
        self._inputs = inputs
        self._repartitioned = repartitioned
        self._graph = inputs[0].grouped._graph
        self._key_serde = inputs[0].grouped._key_serde

    @classmethod
    def _of(cls, grouped: KGroupedStream[K, V], aggregator: Callable[[K, V, A], A | None]) -> CogroupedKStream[K, A]:
        """Starts a cogroup with one input."""
        checked_callable(aggregator, "cogroup", "aggregator(key, value, aggregate)")
        return cls((Input(grouped, aggregator),), {})

    def cogroup(
        self, grouped: KGroupedStream[K, V], aggregator: Callable[[K, V, A], A | None]
    ) -> CogroupedKStream[K, A]:
        """Adds an input.

        Args:
            grouped: another grouped stream of the same `StreamsBuilder`, with keys of the same type.
            aggregator: `aggregator(key, value, aggregate)` returns the new aggregate, for the records of that stream.

        Raises:
            TopologyError: if `grouped` is no grouped stream, comes from another builder, or was already added.
        """
        from headrace.dsl.grouped.grouped_stream import KGroupedStream  # grouped streams start a cogroup

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
        return CogroupedKStream((*self._inputs, Input(grouped, aggregator)), self._repartitioned)

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        store: TableStore | None = None,
        value_serde: Serde[A] | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """Aggregates the records of all inputs by key, starting from `initializer()`.

        Records without a key or a value are dropped and counted. A result has the highest timestamp of all records of
        the key, of any input, since its row was created. If an aggregator returns `None`, the row is deleted, and the
        next record starts from `initializer()` again.

        Args:
            initializer: returns the aggregate of a new key.
            store: a name for the state store that all inputs share, or a store spec; as in `KGroupedStream.count`.
            value_serde: serde of the aggregates; the default is that of `KGroupedStream.aggregate`.
            name: names the table `<name>-cogroup-merge`, and the operators of its inputs `<name>-cogroup-agg-0` and so
                on.

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
        serde = value_serde or serde_of_results(initializer)
        spec = result_store_spec(self._graph, store, PREFIX, "aggregate", self._key_serde, serde)

        def add(source: Input, node: dict[str, Any], _: tuple[str, ...]) -> None:
            self._graph.add(StreamAggregate(**node, initializer=initializer, aggregator=source.aggregator))

        return self._table(spec, name, spec.key_serde, add, queryable=store is not None)

    @overload
    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | UnlimitedWindows | Windows, *, late_to: str | None = None
    ) -> TimeWindowedCogroupedKStream[K, A]: ...

    @overload
    def windowed_by(
        self, windows: SessionWindows, *, late_to: str | None = None
    ) -> SessionWindowedCogroupedKStream[K, A]: ...

    def windowed_by(
        self, windows: AnyWindows, *, late_to: str | None = None
    ) -> TimeWindowedCogroupedKStream[K, A] | SessionWindowedCogroupedKStream[K, A]:
        """Assigns the records of all inputs to windows, to aggregate them per key and window.

        Each input has its own stream time, which decides which of its records are late. The store is shared, and
        expires windows by the latest window of any input. If one input may lag behind another by more than the grace,
        give `aggregate` a store with a longer retention. Otherwise windows may expire before the records of the slower
        input arrive; its records then start these windows over from `initializer()`.

        Args:
            windows: `TimeWindows`, `SlidingWindows`, `SessionWindows`, `UnlimitedWindows`, or `Windows` of your own.
            late_to: a topic for late records of all inputs, as in `KGroupedStream.windowed_by`.
        """
        from headrace.dsl.grouped.windowed_cogroup import SessionWindowedCogroupedKStream, TimeWindowedCogroupedKStream

        checked_windows(windows)
        topic = None if late_to is None else checked_name(late_to, "topic")
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(self, windows, topic)
        return TimeWindowedCogroupedKStream(self, windows, topic)

    def _table(
        self, spec: StoreSpec, name: str | None, key_serde: Serde[Any] | None, add: _Add, *, queryable: bool
    ) -> KTable[Any, Any]:
        """Adds the store, an aggregation for each input, and the table that merges their results.

        `add` must add the node of one aggregation to the graph, see `_Add`. With a `name`, the node of the table is
        `<name>-cogroup-merge`, and those of the aggregations are `<name>-cogroup-agg-0` and so on. With `None`, their
        names are generated. `key_serde` is that of the table's keys. `queryable` says whether the user named the store.
        """
        names = self._graph.names
        own = None if name is None else f"{checked_name(name, 'node')}-cogroup"
        sources = self._sources(spec.name)
        self._graph.add_store(spec)
        aggregations = [
            names.node(None if own is None else f"{own}-agg-{position}", PREFIX)
            for position in range(len(self._inputs))
        ]
        for position, (source, aggregation) in enumerate(zip(sources, aggregations, strict=True)):
            node = {"name": aggregation, "parents": (source,), "stores": (spec.name,)}
            add(self._inputs[position], node, (*aggregations[:position], *aggregations[position + 1 :]))
        merge = names.node(None if own is None else f"{own}-merge", "COGROUPKSTREAM-MERGE-")
        self._graph.add(CogroupMerge(name=merge, parents=tuple(aggregations)))
        return KTable._of_rows(NodeOutput(self._graph, merge, key_serde, spec.value_serde), spec, queryable=queryable)

    def _sources(self, store_name: str) -> list[str]:
        """Returns the node to aggregate from for each input, after adding the repartitions that inputs need.

        If the cogroup is aggregated several times, the aggregations share its repartitions, so those of an earlier one
        are not added again. A new repartition has the name of its grouped stream. If that has none, the first one is
        named `store_name`, the store of the aggregation that is being added; further ones are named
        `<store_name>-<index of the input>`.
        """
        sources: list[str] = []
        store_name_used = False
        for position, (grouped, _) in enumerate(self._inputs):
            source = self._repartitioned.get(grouped)
            if source is not None:
                pass_over_repartition(self._graph)
            else:
                source = grouped._input(f"{store_name}-{position}" if store_name_used else store_name)
                if grouped._repartition_required:
                    self._repartitioned[grouped] = source
                    store_name_used = store_name_used or grouped._name is None
            sources.append(source)
        for source in sources[1:]:
            self._graph.copartition("cogroup", sources[0], source)
        return sources

    def __repr__(self) -> str:
        return f"<CogroupedKStream of {', '.join(source.grouped._node for source in self._inputs)}>"
