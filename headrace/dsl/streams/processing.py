"""`KStream.process` and `KStream.process_values`: processors of your own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headrace._graph.declared_stores import own_stores
from headrace._graph.nodes import Process
from headrace.dsl.streams.handle import StreamHandle
from headrace.dsl.type_variables import K2, V2, K, V
from headrace.model.arguments import checked_factory
from headrace.model.processor import FixedKeyProcessor, Processor, ProcessorFactory
from headrace.model.stores.specs import StoreSpec

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream


class StreamProcessing(StreamHandle[K, V]):
    """The operators of `KStream` that run a processor."""

    def process(
        self,
        factory: Callable[[], Processor[K, V, K2, V2]],
        *,
        stores: Iterable[StoreSpec | str] = (),
        name: str | None = None,
    ) -> KStream[K2, V2]:
        """Sends every record to a processor of your own; the result has the records that it forwards.

        The processor also gets records with a null key or value. Marks the stream for repartitioning. As with
        `map`, the result does not have the stream's serdes.

        Args:
            factory: creates a new processor for every task: a `Processor` class, or a function without arguments.
            stores: the stores that the processor may use: specs, as `Stores` returns them, or names of stores that were
                added before. Processors with the same spec share the store and run in the same task. Stores that the
                `stores()` method of the processor returns are connected as well.
            name: name of the processor node.

        Example:
            >>> import headrace as hr
            >>> from headrace import serdes
            >>> from headrace.testing import run_stream
            >>> latest = hr.Stores.key_value("latest", value_serde=serdes.Long())
            >>> class Changes(hr.Processor[str, int, str, int]):
            ...     def process(self, record: hr.Record[str, int]) -> None:
            ...         store = self.context.state_store(latest)
            ...         if store.get(record.key) != record.value:
            ...             self.context.forward(record)
            ...         store.put(record.key, record.value)
            >>> run_stream(lambda stream: stream.process(Changes, stores=[latest]), ("a", 1, 10), ("a", 1, 11))
            [Record(key='a', value=1, timestamp_ms=10)]
        """
        return self._derive_new_key(self._process("KSTREAM-PROCESSOR-", name, "process()", factory, stores))

    def process_values(
        self,
        factory: Callable[[], FixedKeyProcessor[K, V, V2]],
        *,
        stores: Iterable[StoreSpec | str] = (),
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Sends every record to a processor of your own that keeps the key; the partitioning stays.

        The arguments are those of `process`. The processor must forward records with the key of the record that it
        processes. Forwarding another key raises a `StreamsError`.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import run_stream
            >>> class Stamp(hr.FixedKeyProcessor[str, str, str]):
            ...     def process(self, record: hr.Record[str, str]) -> None:
            ...         self.context.forward(record.with_value(f"{record.value} at {record.timestamp_ms}"))
            >>> run_stream(lambda stream: stream.process_values(Stamp), ("a", "seen", 10))
            [Record(key='a', value='seen at 10', timestamp_ms=10)]
        """
        node = self._process("KSTREAM-PROCESSVALUES-", name, "process_values()", factory, stores, fixed_key=True)
        return self._derive_same_key(node, None)

    def _process(
        self,
        prefix: str,
        name: str | None,
        operation: str,
        factory: ProcessorFactory,
        stores: Iterable[StoreSpec | str],
        *,
        fixed_key: bool = False,
    ) -> str:
        checked_factory(factory, operation)
        node = self._add(Process, prefix, name, factory=factory, fixed_key=fixed_key)
        self._graph.connect_own(node, stores, own_stores(factory, operation))
        return node
