"""Inner joins of a stream: with another stream, with a table, with a global table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from headrace.dsl.joins.options import Join, JoinName, RepartitionOptions, StreamJoinOptions
from headrace.dsl.streams.handle import StreamHandle
from headrace.dsl.type_variables import V2, Foreign, K, Key, Other, V, Value
from headrace.model.routing import StreamPartitioner
from headrace.model.time.join_windows import JoinWindows
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable
    from headrace.dsl.tables.global_table import GlobalKTable


class StreamJoins(StreamHandle[K, V]):
    """`KStream.join`, with an overload for each kind of the other side and of joiner, with the options that apply."""

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
        """Joins each record with its matches in another stream or in a table; a result is `joiner(value, other_value)`.

        - With a **stream**, records match if they have the same key and their timestamps are close enough (`within`).
          A record of either stream is joined with the records of the other stream that arrived before it. A result has
          the higher of the two timestamps, and the headers of the record that arrived last.
        - With a **table**, each record of this stream is joined with the current row of its key, or of the key
          `foreign_key(key, value)`; with a versioned table, with the row as of the record's timestamp. Changes of the
          table produce no results. A result has the timestamp and headers of the record.
        - With a **global table**, each record of this stream is joined with the current row of the key
          `key_selector(key, value)`. Otherwise the same as with a table.

        Results have the key of this stream's record. Records without a value are dropped and counted. So are records
        without a key; with `foreign_key` or `key_selector`, those for which it returns `None`.

        Args:
            other: the stream, table or global table to join with.
            joiner: `joiner(value, other_value)`, or `joiner(key, value, other_value)`; with `foreign_key` or
                `key_selector`, also `joiner(key, other_key, value, other_value)`. A function that accepts two arguments
                gets the values only.
            within: for streams, required: how far apart the timestamps of matching records may be.
            grace: for versioned tables: how long, in stream time, a record waits for late rows before it is joined.
                Default: it is joined at once.
            key_selector: for global tables: returns the key of the matching row, or `None` if there is none. Default:
                the key of the record.
            foreign_key: for tables: returns the key of the matching row, or `None` if there is none. Default: the key
                of the record. Repartitions the stream to the tasks of the table's rows.
            other_partitioner: only with `foreign_key`: the function `(topic, key, None, partitions) -> partition` by
                which the topic of the table is partitioned. Default: Kafka's rule, a hash of the serialized key.
            key_serde: serde of the keys in repartitions and stores; default: the stream's.
            value_serde: serde of this stream's values in repartitions and stores; default: the stream's.
            other_value_serde: for streams: serde of the other stream's values; default: the other stream's.
            store: for streams: names the stores of both sides, `<store>-this-join-store` and so on.
            name: name of the operator, and of its repartition topics.

        Raises:
            TopologyError: for an option that does not apply to this kind of join, and for a grace that is longer than
                the history of the versioned table.

        Example:
            >>> from datetime import timedelta
            >>> from headrace import JoinWindows
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
