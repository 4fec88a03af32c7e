"""Inner joins of a stream: with another stream, with a table, with a global table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from headrace.dsl.joins.options import Join, JoinName, RepartitionOptions, StreamJoinOptions
from headrace.dsl.streams.handle import StreamHandle
from headrace.dsl.type_variables import V2, Foreign, K, Key, Other, V, Value
from headrace.model.routing import StreamPartitioner
from headrace.model.windows import JoinWindows
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.global_table import GlobalKTable
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable


class StreamJoins(StreamHandle[K, V]):
    """`KStream.join`. There is an overload for each kind of partner and of joiner, with the options that fit it."""

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: KStream[Key, Other | None],
        joiner: Callable[[Value, Other], V2],
        *,
        within: JoinWindows,
        **options: Unpack[StreamJoinOptions[Key, Value, Other]],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: KTable[Key, Other],
        joiner: Callable[[Value, Other], V2],
        *,
        grace: timedelta | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: KTable[Foreign, Other],
        joiner: Callable[[Value, Other], V2],
        *,
        foreign_key: Callable[[Key, Value], Foreign | None],
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: GlobalKTable[Foreign, Other],
        joiner: Callable[[Value, Other], V2],
        *,
        key_selector: Callable[[Key, Value], Foreign | None],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: GlobalKTable[Key, Other],
        joiner: Callable[[Value, Other], V2],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: KStream[Key, Other | None],
        joiner: Callable[[Key, Value, Other], V2],
        *,
        within: JoinWindows,
        **options: Unpack[StreamJoinOptions[Key, Value, Other]],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: KTable[Key, Other],
        joiner: Callable[[Key, Value, Other], V2],
        *,
        grace: timedelta | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: KTable[Foreign, Other],
        joiner: Callable[[Key, Value, Other], V2],
        *,
        foreign_key: Callable[[Key, Value], Foreign | None],
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: GlobalKTable[Foreign, Other],
        joiner: Callable[[Key, Value, Other], V2],
        *,
        key_selector: Callable[[Key, Value], Foreign | None],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: GlobalKTable[Key, Other],
        joiner: Callable[[Key, Value, Other], V2],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: KTable[Foreign, Other],
        joiner: Callable[[Key, Foreign, Value, Other], V2],
        *,
        foreign_key: Callable[[Key, Value], Foreign | None],
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[RepartitionOptions[Key, Value]],
    ) -> KStream[Key, V2]: ...

    @overload
    def join(
        self: StreamJoins[Key, Value | None],
        other: GlobalKTable[Foreign, Other],
        joiner: Callable[[Key, Foreign, Value, Other], V2],
        *,
        key_selector: Callable[[Key, Value], Foreign | None],
        **options: Unpack[JoinName],
    ) -> KStream[Key, V2]: ...

    def join(
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
        """Combines each record with its matches in another stream or in a table, as `joiner(value, other value)`.

        A joiner with three parameters gets the key, too: `joiner(key, value, other value)`. With `key_selector` or
        `foreign_key`, one with four gets both keys: `joiner(key, selected key, value, other value)`.

        - With a **stream**, records match if they have the same key and their timestamps are `within` the windows. Both
          sides trigger. The result has the higher of both timestamps.
        - With a **table**, only this stream triggers: each record matches the current row of its key, or the row of
          `foreign_key(key, value)`. With a versioned table it matches the row as of the record's timestamp.
        - With a **global table**, each record matches the row of `key_selector(key, value)`.

        Results of joins with tables have the key and the timestamp of the record. Records without a value are dropped
        and counted. So are records without a key; with a global table, records whose selected key is `None`.

        Args:
            other: the stream, table or global table to join with.
            joiner: returns the result, given both values; or the key and both values; or both keys and both values. A
                function that can be called with two arguments gets the values only.
            within: for streams: how far apart the timestamps of matching records may be.
            grace: for versioned tables: how long records wait for late rows.
            key_selector: for global tables: returns the key of the row; it may be `None`. Default: the record's key.
            foreign_key: for tables: returns the key of the row, if it is not the record's; it may be `None`.
            other_partitioner: with a foreign key: `(topic, key, None, partitions) -> partition`, the rule by which the
                topic of the table is partitioned, if it is not Kafka's.
            key_serde: serde of the keys in repartition and stores.
            value_serde: serde of this stream's values in repartition and stores.
            other_value_serde: for streams: serde of the other stream's values.
            store: for streams: names the stores of both sides, `<store>-this-join-store` and so on.
            name: name of the operator, and of its repartition topics.

        Example:
            >>> from datetime import timedelta
            >>> from headrace.testing import run_stream
            >>> within = JoinWindows.of(timedelta(seconds=5))
            >>> def with_itself(stream):
            ...     big = stream.filter(lambda key, value: value > 9)
            ...     return stream.join(big, lambda value, other: [value, other], within=within)
            >>> run_stream(with_itself, ("a", 1, 4_000), ("a", 10, 2_000))[0]
            Record(key='a', value=[1, 10], timestamp_ms=4000)
        """
        options = Join.of(
            "join",
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

    def _join(self, other: object, join: Join) -> KStream[Any, Any]:
        from headrace.dsl.joins.dispatch import join_stream  # it makes streams and tables

        return join_stream(cast("KStream[Any, Any]", self), other, join)
