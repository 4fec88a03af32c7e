"""`KGroupedStream`: records grouped by key, to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, overload

from headrace._graph.names import checked_name
from headrace._graph.nodes import StreamAggregate, StreamCount, StreamReduce
from headrace._graph.repartition import add_repartition, pass_over_repartition
from headrace._graph.windows.stores import checked_windows
from headrace.dsl.grouped.handle import GroupedHandle
from headrace.dsl.grouped.windowed_stream import Grouping, SessionWindowedKStream, TimeWindowedKStream
from headrace.dsl.handle import NodeOutput
from headrace.dsl.ktable import KTable
from headrace.dsl.type_variables import A, K, Key, V, Value
from headrace.model.arguments import checked_callable
from headrace.model.stores.specs import TableStore
from headrace.model.time.windows import (
    AnyWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    Windows,
)
from headrace.serdes import Long, Serde
from headrace.serdes.inferred import serde_of_results

if TYPE_CHECKING:
    from headrace.dsl.grouped.cogrouped_stream import CogroupedKStream


class KGroupedStream(GroupedHandle, Generic[K, V]):
    """A stream grouped by key, to be aggregated. Records without a key or without a value are dropped and counted.

    Without windows, records are aggregated in the order in which they are processed, and no record is late. Each record
    emits an updated result, unless there is a record cache (`statestore_cache_max_bytes`). A result has the highest
    timestamp of the records in it: of all records of the key since its row was created.

    Example:
        >>> from headrace.testing import run_stream
        >>> def longest(stream):
        ...     return stream.group_by_key().reduce(lambda first, second: max(first, second, key=len)).to_stream()
        >>> run_stream(longest, ("a", "word", 10), ("a", "to", 11))
        [Record(key='a', value='word', timestamp_ms=10), Record(key='a', value='word', timestamp_ms=11)]
    """

    def __init__(self, output: NodeOutput, *, repartition_required: bool, name: str | None) -> None:
        super().__init__(output, name=name)
        self._repartition_required = repartition_required

    def count(self, *, store: TableStore | None = None, name: str | None = None) -> KTable[K, int]:
        """Counts the records of each key.

        Args:
            store: a name for the state store, so that you can query it, and so that its state is found again after
                changes of the topology. Or a store spec: `Stores.timestamped_key_value(...)`, or
                `Stores.versioned_key_value(...)` to keep earlier versions. Default: a generated name.
            name: name of the operator.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("in").pipe("a", "x", timestamp_ms=7)
            ...     driver.output_topic("out").read_all(), driver.store("counts").get("a")
            ([Record(key='a', value=1, timestamp_ms=7)], 1)
        """
        return self._aggregate("count", "KSTREAM-AGGREGATE-", StreamCount, store, Long(), name)

    def reduce(
        self: KGroupedStream[Key, Value | None],
        reducer: Callable[[Value, Value], Value | None],
        *,
        store: TableStore | None = None,
        value_serde: Serde[Value] | None = None,
        name: str | None = None,
    ) -> KTable[Key, Value]:
        """Reduces the values of each key to one: the first value, then `reducer(aggregate, value)`.

        If the reducer returns `None`, the row is deleted, and the next record starts over as the first one.

        Args:
            reducer: returns the new aggregate.
            store: as in `count`.
            value_serde: serde of the aggregates; default: the serde of the stream's values.
            name: name of the operator.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("in").group_by_key().reduce(max).to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     for value, timestamp_ms in [(3, 1), (9, 2), (4, 3)]:
            ...         driver.input_topic("in").pipe("a", value, timestamp_ms=timestamp_ms)
            ...     [(record.value, record.timestamp_ms) for record in driver.output_topic("out").read_all()]
            [(3, 1), (9, 2), (9, 3)]
        """
        checked_callable(reducer, "reduce", "reducer(aggregate, value)")
        make = partial(StreamReduce, reducer=reducer)
        serde = value_serde or self._value_serde
        return self._aggregate("reduce", "KSTREAM-REDUCE-", make, store, serde, name)

    def aggregate(
        self: KGroupedStream[Key, Value | None],
        initializer: Callable[[], A],
        aggregator: Callable[[Key, Value, A], A | None],
        *,
        store: TableStore | None = None,
        value_serde: Serde[A] | None = None,
        name: str | None = None,
    ) -> KTable[Key, A]:
        """Aggregates the records of each key: `aggregator(key, value, aggregate)`, starting from `initializer()`.

        If the aggregator returns `None`, the row is deleted. The next record then starts from `initializer()` again,
        and its result has its own timestamp.

        Args:
            initializer: returns the aggregate of a new key, e.g. `list`.
            aggregator: returns the new aggregate. It may change `aggregate`, a copy from the store, in place.
            store: as in `count`.
            value_serde: serde of the aggregates. Default: the setting `default_value_serde`. If that is JSON without a
                type, aggregates are read back as the type of the initializer: its own if it is a class, or its
                annotated return type.
            name: name of the operator.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> grouped = builder.stream("in").group_by_key()
            >>> grouped.aggregate(list, lambda key, value, seen: [*seen, value]).to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("in").pipe("a", 1, timestamp_ms=0)
            ...     driver.input_topic("in").pipe("a", 2, timestamp_ms=0)
            ...     [record.value for record in driver.output_topic("out").read_all()]
            [[1], [1, 2]]
        """
        checked_callable(initializer, "aggregate", "initializer()")
        checked_callable(aggregator, "aggregate", "aggregator(key, value, aggregate)")
        make = partial(StreamAggregate, initializer=initializer, aggregator=aggregator)
        serde = value_serde or serde_of_results(initializer)
        return self._aggregate("aggregate", "KSTREAM-AGGREGATE-", make, store, serde, name)

    @overload
    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | UnlimitedWindows | Windows, *, late_to: str | None = None
    ) -> TimeWindowedKStream[K, V]: ...

    @overload
    def windowed_by(self, windows: SessionWindows, *, late_to: str | None = None) -> SessionWindowedKStream[K, V]: ...

    def windowed_by(
        self, windows: AnyWindows, *, late_to: str | None = None
    ) -> TimeWindowedKStream[K, V] | SessionWindowedKStream[K, V]:
        """Assigns the records to windows, to aggregate them per key and window.

        Args:
            windows: `TimeWindows`, `SlidingWindows`, `SessionWindows`, `UnlimitedWindows`, or `Windows` of your own.
            late_to: name of a topic for records that are too late for a window. Each is written with its key, value and
                timestamp. Its headers get the window (`headrace.window.start` and `headrace.window.end`), when the
                window closed (`headrace.window.close`), and the stream time (`headrace.stream.time`), all in epoch
                milliseconds as text. With or without `late_to`, late records are dropped and counted.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> minutes = hr.TimeWindows.of(timedelta(minutes=1))
            >>> counts = builder.stream("in").group_by_key().windowed_by(minutes, late_to="late").count()
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     for timestamp_ms in (10_000, 65_000, 20_000):
            ...         driver.input_topic("in").pipe("k", "v", timestamp_ms)
            ...     late = driver.output_topic("late").read_all()
            ...     [(record.timestamp_ms, dict(record.headers)["headrace.stream.time"]) for record in late]
            [(20000, b'65000')]
        """
        checked_windows(windows)
        topic = None if late_to is None else checked_name(late_to, "topic")
        grouping = Grouping(self._graph, self._key_serde, self._value_serde, windows, topic, self._input)
        return (
            SessionWindowedKStream(grouping) if isinstance(windows, SessionWindows) else TimeWindowedKStream(grouping)
        )

    def cogroup(self, aggregator: Callable[[K, V, A], A | None]) -> CogroupedKStream[K, A]:
        """Starts a cogroup: several grouped streams, each with its own aggregator, update one aggregate per key.

        Args:
            aggregator: `aggregator(key, value, aggregate)` returns the new aggregate, for the records of this stream.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> clicks, sales = builder.stream("clicks").group_by_key(), builder.stream("sales").group_by_key()
            >>> both = clicks.cogroup(lambda user, page, seen: {**seen, "page": page})
            >>> both = both.cogroup(sales, lambda user, price, seen: {**seen, "spent": seen.get("spent", 0) + price})
            >>> both.aggregate(dict).to_stream().to("users")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("clicks").pipe("ann", "/", timestamp_ms=5)
            ...     driver.input_topic("sales").pipe("ann", 30, timestamp_ms=3)
            ...     [(record.value, record.timestamp_ms) for record in driver.output_topic("users").read_all()]
            [({'page': '/'}, 5), ({'page': '/', 'spent': 30}, 5)]
        """
        from headrace.dsl.grouped.cogrouped_stream import CogroupedKStream  # a cogroup holds grouped streams

        return CogroupedKStream._of(self, aggregator)

    def _name_and_parent(self, prefix: str, name: str | None, store_name: str) -> tuple[str, str]:
        node_name = self._graph.names.node(name, prefix)
        return node_name, self._input(store_name)

    def _input(self, store_name: str) -> str:
        """Returns the node to aggregate from; adds a repartition if the key may have changed.

        Several aggregations share a repartition that has a name.
        """
        if not self._repartition_required:
            return self._node
        if self._name is not None and self._repartitioned is not None:
            pass_over_repartition(self._graph)
            return self._repartitioned
        self._repartitioned = add_repartition(
            self._graph,
            self._node,
            self._name or store_name,
            key_serde=self._key_serde,
            value_serde=self._value_serde,
        )
        return self._repartitioned
