"""`KTable.suppress`: holds the updates of a table back until they are final, or for some time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace._graph.names import checked_name
from headrace._graph.nodes import Suppress
from headrace._graph.tables.old_values import send_old_values
from headrace._graph.windows.suppress_wait import close_wait_ms
from headrace.dsl.tables.handle import TableHandle
from headrace.dsl.type_variables import K, V
from headrace.errors import TopologyError
from headrace.model.stores.specs import SuppressBufferSpec
from headrace.model.time.emission import Suppressed

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable


class TableSuppression(TableHandle[K, V]):
    """`KTable.suppress`."""

    def suppress(self, suppressed: Suppressed, *, name: str | None = None) -> KTable[K, V]:
        """Holds the updates of each row back, and emits only the last one when the row is released.

        The emitted change has the timestamp and the headers of that last update. Rows are released in the order of
        their window ends, or, with `until_time_limit`, of the timestamps of the first updates held back; then in the
        order of their serialized keys. Only records that reach this operator advance its stream time: without input,
        rows wait. The setting `stream_time_key_idle` ends the wait for keys that are idle: their rows are released
        without headers. `until_time_limit` also emits deletions, `until_window_closes` does not.

        Args:
            suppressed: when rows are released, and how many may be held back.
            name: name of the operator; the name of its buffer is `<name>-store`.

        Raises:
            TopologyError: for a versioned table, and for `until_window_closes` if the table has no windows or its
                windows never close.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> windows = hr.TimeWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=2))
            >>> counts = builder.stream("in").group_by_key().windowed_by(windows).count()
            >>> counts.suppress(hr.Suppressed.until_window_closes()).to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     for timestamp_ms in (3, 11, 7, 12):
            ...         driver.input_topic("in").pipe("k", "v", timestamp_ms)
            ...     for record in driver.output_topic("out").read_all():
            ...         print(record.key, record.value, record.timestamp_ms)
            [k@0/10] 2 7
        """
        self._check_suppressed(suppressed)
        limit_ms = suppressed.limit_ms
        wait_ms = close_wait_ms(self._graph, self._node) if limit_ms is None else limit_ms
        send_old_values(self._graph, self._node, materialize=True)
        names, prefix = self._graph.names, "KTABLE-SUPPRESS-"
        # Unlike other operators, a named suppress uses up no index in Kafka Streams.
        node_name = names.generate(prefix) if name is None else checked_name(name, "node")
        buffer = SuppressBufferSpec(
            name=names.store(None if name is None else f"{name}-store", prefix),
            key_serde=self._key_serde,
            value_serde=self._value_serde,
        )
        node = Suppress(
            name=node_name,
            parents=(self._node,),
            stores=(self._graph.add_store(buffer).name,),
            send_old_values=True,
            until_window_closes=limit_ms is None,
            wait_ms=wait_ms,
            buffer=suppressed.buffer,
        )
        return self._derive(node, self._value_serde)

    def _check_suppressed(self, suppressed: Suppressed) -> None:
        if not isinstance(suppressed, Suppressed):
            message = (
                f"suppress() of {self._node} was given {suppressed!r}; allowed: Suppressed.until_window_closes(), "
                "Suppressed.until_time_limit(limit)."
            )
            raise TopologyError(message)
        if self._versioned:
            message = (
                f"suppress() of {self._node} was given a versioned table; allowed are tables that keep only the latest "
                "version. Make it without Stores.versioned_key_value(...), or name a store= in the operator before."
            )
            raise TopologyError(message)
