"""Adds stores for processors, including stores that a processor maintains from a topic."""

from __future__ import annotations

from typing import Any, Self

from headrace._graph.graph import GraphBuilder
from headrace._graph.topic_stores import add_store_of_topic
from headrace.dsl.sources import SourceSettings, source_of_store
from headrace.model.processor import ProcessorFactory
from headrace.model.stores.specs import StoreSpec
from headrace.model.time.timestamps import Extractor
from headrace.serdes import Serde


class ProcessorStores:
    """The methods of `StreamsBuilder` that add stores for processors."""

    def __init__(self) -> None:
        self._graph = GraphBuilder()

    def add_state_store(self, store: StoreSpec) -> Self:
        """Adds a store that processors can use by its name: `stream.process(factory, stores=["name"])`.

        Args:
            store: the spec of the store, as `Stores` returns it.
        """
        self._graph.add_store(store)
        return self

    def add_global_store(
        self,
        store: StoreSpec,
        topic: str,
        factory: ProcessorFactory,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
        name: str | None = None,
    ) -> Self:
        """Adds a global store that a processor of your own maintains from a topic.

        Every task that reads the store has a full copy of it, and an instance of your processor that maintains the
        copy. This instance gets every record of the topic, with its timestamp and headers, also records without a key.
        In each micro-batch it gets them before the task processes other records. Processors of streams that name the
        store in their `stores=` can read it, but only your processor can write it.

        All copies must stay equal. So what the processor writes may depend only on the records and the store. It cannot
        schedule punctuations or use the stream time, and records that it forwards go nowhere. If you just need the
        last value of each key, use `global_table`.

        Args:
            store: the spec of the store, of any kind, as `Stores` returns it.
            topic: the topic. No stream or table can read it, too.
            factory: creates a new processor for every task: a `Processor` class, or a function without arguments.
            key_serde: serde of the topic's keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the topic's values; default: the setting `default_value_serde`, else `serdes.Json()`.
            timestamp_extractor: returns the timestamp of a record; a negative timestamp drops the record. Default: the
                record's timestamp, even if `default_timestamp_extractor` is set.
            name: name of the processor node.

        Example:
            >>> import headrace as hr
            >>> from headrace import serdes
            >>> from headrace.testing import TopologyTestDriver
            >>> rates = hr.Stores.key_value("rates", value_serde=serdes.Double())
            >>> class Maintain(hr.Processor):
            ...     def process(self, record):
            ...         for currency, rate in record.value.items():
            ...             self.context.state_store(rates).put(currency, rate)
            >>> class Convert(hr.Processor):
            ...     def process(self, record):
            ...         rate = self.context.state_store(rates).get(record.key)
            ...         self.context.forward(record.with_value(record.value * rate))
            >>> builder = hr.StreamsBuilder()
            >>> builder.add_global_store(rates, "daily-rates", Maintain).stream("prices").process(
            ...     Convert, stores=[rates]
            ... ).to("converted")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("daily-rates").pipe("monday", {"EUR": 0.5, "USD": 2.0}, timestamp_ms=1)
            ...     driver.input_topic("prices").pipe("EUR", 30, timestamp_ms=7)
            ...     driver.output_topic("converted").read_all()
            [Record(key='EUR', value=15.0, timestamp_ms=7)]
        """
        settings = SourceSettings(key_serde, value_serde, timestamp_extractor, offset_reset=None)
        self._store_of_topic("add_global_store()", store, topic, factory, name, settings, is_global=True)
        return self

    def add_read_only_state_store(
        self,
        store: StoreSpec,
        topic: str,
        factory: ProcessorFactory,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
        name: str | None = None,
    ) -> Self:
        """Adds a store that a processor of your own maintains from a topic and others can only read (KIP-813).

        The store is partitioned like the topic: each task has a part, which an instance of your processor maintains
        from one partition of the topic. Processors that name the store in their `stores=` run in the same task. So that
        they find the entries of their keys, their topics must have the same number of partitions. Unlike with a global
        store, a task processes the records of this topic and of its other topics together, by timestamp.

        Args:
            store: the spec of the store, of any kind, as `Stores` returns it.
            topic: the topic. No stream or table can read it, too.
            factory: creates a new processor for every task: a `Processor` class, or a function without arguments.
            key_serde: serde of the topic's keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the topic's values; default: the setting `default_value_serde`, else `serdes.Json()`.
            timestamp_extractor: returns the timestamp of a record; a negative timestamp drops the record. Default:
                `default_timestamp_extractor` of `StreamsConfig`.
            name: name of the processor node.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> limits = hr.Stores.key_value("limits")
            >>> class Maintain(hr.Processor):
            ...     def process(self, record):
            ...         self.context.state_store(limits).put(record.key, record.value)
            >>> class Check(hr.Processor):
            ...     def process(self, record):
            ...         if record.value > self.context.state_store(limits).get(record.key):
            ...             self.context.forward(record)
            >>> builder = hr.StreamsBuilder()
            >>> builder.add_read_only_state_store(limits, "limits", Maintain)
            <...StreamsBuilder object at ...>
            >>> builder.stream("orders").process(Check, stores=[limits]).to("too-much")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("limits").pipe("ann", 100, timestamp_ms=1)
            ...     driver.input_topic("orders").pipe("ann", 120, timestamp_ms=7)
            ...     driver.output_topic("too-much").read_all()
            [Record(key='ann', value=120, timestamp_ms=7)]
        """
        settings = SourceSettings(key_serde, value_serde, timestamp_extractor, offset_reset=None)
        self._store_of_topic("add_read_only_state_store()", store, topic, factory, name, settings, is_global=False)
        return self

    def _store_of_topic(
        self,
        operation: str,
        store: StoreSpec,
        topic: str,
        factory: ProcessorFactory,
        name: str | None,
        settings: SourceSettings,
        *,
        is_global: bool,
    ) -> None:
        """Adds a store that a processor maintains from a topic, with Kafka Streams' names for its nodes."""
        source = source_of_store(self._graph, topic, name, settings, operation, is_global=is_global)
        processor = self._graph.names.node(name, "KTABLE-SOURCE-")
        add_store_of_topic(self._graph, store, source, processor, factory, operation)
