"""Left and outer joins of a stream: with another stream, with a table, with a global table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack, overload

from headrace.dsl.joins.options import Join, JoinName, RepartitionOptions, StreamJoinOptions
from headrace.dsl.streams.joining import StreamJoins
from headrace.dsl.type_variables import V2, Foreign, K, Key, Other, V, Value
from headrace.model.routing import StreamPartitioner
from headrace.model.time.join_windows import JoinWindows
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable
    from headrace.dsl.tables.global_table import GlobalKTable


class StreamOuterJoins(StreamJoins[K, V]):
    """The joins of `KStream` that also emit unmatched records; the overloads are like those of `StreamJoins`."""

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KStream[Key, Other],
        joiner: Callable[[Value, Other | None], V2],
        *,
        within: JoinWindows,
        **options: Unpack[StreamJoinOptions[Key, Value, Other]],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KTable[Key, Other],
        joiner: Callable[[Value, Other | None], V2],
        *,
        grace: timedelta | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KTable[Foreign, Other],
        joiner: Callable[[Value, Other | None], V2],
        *,
        foreign_key: Callable[[Key, Value], Foreign | None],
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: GlobalKTable[Foreign, Other],
        joiner: Callable[[Value, Other | None], V2],
        *,
        key_selector: Callable[[Key, Value], Foreign | None],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: GlobalKTable[Key, Other],
        joiner: Callable[[Value, Other | None], V2],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KStream[Key, Other],
        joiner: Callable[[Key, Value, Other | None], V2],
        *,
        within: JoinWindows,
        **options: Unpack[StreamJoinOptions[Key, Value, Other]],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KTable[Key, Other],
        joiner: Callable[[Key, Value, Other | None], V2],
        *,
        grace: timedelta | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KTable[Foreign, Other],
        joiner: Callable[[Key, Value, Other | None], V2],
        *,
        foreign_key: Callable[[Key, Value], Foreign | None],
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: GlobalKTable[Foreign, Other],
        joiner: Callable[[Key, Value, Other | None], V2],
        *,
        key_selector: Callable[[Key, Value], Foreign | None],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: GlobalKTable[Key, Other],
        joiner: Callable[[Key, Value, Other | None], V2],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KTable[Foreign, Other],
        joiner: Callable[[Key, Foreign | None, Value, Other | None], V2],
        *,
        foreign_key: Callable[[Key, Value], Foreign | None],
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def left_join(
        self: StreamOuterJoins[Key, Value | None],
        other: GlobalKTable[Foreign, Other],
        joiner: Callable[[Key, Foreign | None, Value, Other | None], V2],
        *,
        key_selector: Callable[[Key, Value], Foreign | None],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    def left_join(
        self,
        other: Any,
        joiner: Any,
        *,
        within: JoinWindows | None = None,
        grace: timedelta | None = None,
        key_selector: Callable[[Any, Any], Any] | None = None,
        foreign_key: Callable[[Any, Any], Any] | None = None,
        other_partitioner: StreamPartitioner[Any, None] | None = None,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KStream[Any, Any]:
        """Joins as `join` does, and also emits unmatched records, as `joiner(value, None)` with their own timestamp.

        With a stream, an unmatched record is emitted when its window has closed: when stream time is beyond its
        timestamp plus `after` and grace of `within`. Only an arriving record advances stream time. With a table, an
        unmatched record is emitted at once, or after the `grace`.

        Records without a key cannot match and are emitted at once; with `foreign_key` or `key_selector`, those for
        which it returns `None`. Records without a value are dropped and counted. The arguments are those of `join`.

        Example:
            >>> from datetime import timedelta
            >>> from headrace import JoinWindows
            >>> from headrace.testing import run_stream
            >>> within = JoinWindows.of(timedelta(milliseconds=5))
            >>> def with_big_ones(stream):
            ...     big = stream.filter(lambda key, value: value > 9)
            ...     return stream.left_join(big, lambda value, other: [value, other], within=within)
            >>> run_stream(with_big_ones, ("a", 1, 10), ("b", 2, 16))
            [Record(key='a', value=[1, None], timestamp_ms=10)]
        """
        options = Join.of(
            "left_join",
            joiner,
            within=within,
            grace=grace,
            key_selector=key_selector,
            foreign_key=foreign_key,
            other_partitioner=other_partitioner,
            key_serde=key_serde,
            value_serde=value_serde,
            other_value_serde=other_value_serde,
            store=store,
            name=name,
        )
        return self._join(other, options)

    @overload
    def outer_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KStream[Key, Other | None],
        joiner: Callable[[Value | None, Other | None], V2],
        *,
        within: JoinWindows,
        **options: Unpack[StreamJoinOptions[Key, Value, Other]],
    ) -> KStream[Key, V2]: ...

    @overload
    def outer_join(
        self: StreamOuterJoins[Key, Value | None],
        other: KStream[Key, Other | None],
        joiner: Callable[[Key, Value | None, Other | None], V2],
        *,
        within: JoinWindows,
        **options: Unpack[StreamJoinOptions[Key, Value, Other]],
    ) -> KStream[Key, V2]: ...

    def outer_join(
        self,
        other: Any,
        joiner: Any,
        *,
        within: JoinWindows | None = None,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KStream[Any, Any]:
        """Joins two streams as `left_join` does, and also emits unmatched records of the other stream.

        They are emitted as `joiner(None, other_value)`, when stream time is beyond their timestamp plus `before` and
        grace of `within`. The arguments are those of `join` with a stream.

        Example:
            >>> from datetime import timedelta
            >>> from headrace import JoinWindows
            >>> from headrace.testing import run_stream
            >>> within = JoinWindows.of(timedelta(milliseconds=5))
            >>> def small_and_big(stream):
            ...     small = stream.filter(lambda key, value: value < 9)
            ...     big = stream.filter(lambda key, value: value > 9)
            ...     return small.outer_join(big, lambda value, other: [value, other], within=within)
            >>> run_stream(small_and_big, ("a", 10, 10), ("b", 2, 16))
            [Record(key='a', value=[None, 10], timestamp_ms=10)]
        """
        options = Join.of(
            "outer_join",
            joiner,
            within=within,
            key_serde=key_serde,
            value_serde=value_serde,
            other_value_serde=other_value_serde,
            store=store,
            name=name,
        )
        return self._join(other, options)
