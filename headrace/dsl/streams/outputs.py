"""Operators of `KStream` that write records: to a topic, a table, a repartition, the screen or a file."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace._graph.names import checked_name
from headrace._graph.nodes import DynamicSink, ForEach, Print, Sink, TableSource
from headrace._graph.repartition import add_repartition
from headrace._graph.tables.materialized import table_store_spec
from headrace._graph.tables.old_values import materialize_source
from headrace.dsl.handle import NodeOutput
from headrace.dsl.streams.handle import StreamHandle
from headrace.dsl.type_variables import K, Key, V, Value
from headrace.errors import TopologyError
from headrace.model.arguments import checked_callable, checked_partitioner
from headrace.model.routing import StreamPartitioner, TopicNameExtractor
from headrace.model.stores.specs import TableStore, VersionedSpec
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable

# Every serde accepts `None`, so `Serde[int]` also fits a stream of `int | None`. The types of `self` below say so.


class StreamOutputs(StreamHandle[K, V]):
    """The operators of `KStream` that end a stream, or write it to an internal topic or a table."""

    def to(
        self: StreamOutputs[Key, Value | None],
        topic: str | TopicNameExtractor[K, V],
        *,
        key_serde: Serde[Key] | None = None,
        value_serde: Serde[Value] | None = None,
        partitioner: StreamPartitioner[K, V] | None = None,
        name: str | None = None,
    ) -> None:
        """Writes each record to a topic, with its key, value, timestamp and headers. Ends the stream.

        Keys and values of `None` are written as nulls. If `topic` or `partitioner` is a function and raises, or returns
        a topic or partition that is not allowed, that is a production error: `production_exception_handler` of
        `StreamsConfig` decides.

        Args:
            topic: the topic; it is created if it does not exist. Or a function `(key, value, context) -> topic` that
                returns the topic of each record, where `context` is a `RecordContext`. The setting `dynamic_topics`
                decides whether topics that a function returns are created.
            key_serde: serde of the keys; default: the stream's, else the setting `default_key_serde`, else
                `serdes.String()`.
            value_serde: serde of the values; default: the stream's, else the setting `default_value_serde`, else
                `serdes.Json()`.
            partitioner: `(topic, key, value, partitions) -> partition`. It may also return several partitions, each of
                which gets the record, or `None` for Kafka's rule. Default: Kafka's rule, a hash of the serialized key.
            name: name of the sink node.

        Example:
            >>> import headrace as hr
            >>> from headrace import serdes
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("in").to("out", value_serde=serdes.Long())
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("in").pipe("a", None, timestamp_ms=10)
            ...     driver.output_topic("out").read_all()
            [Record(key='a', value=None, timestamp_ms=10)]

            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("orders").to(lambda key, order, context: f"orders-{order['country']}")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("orders").pipe("o1", {"country": "ch"}, timestamp_ms=10)
            ...     driver.output_topic("orders-ch").read_all()
            [Record(key='o1', value={'country': 'ch'}, timestamp_ms=10)]
        """
        checked_partitioner(partitioner, "to")
        common: dict[str, Any] = {
            "key_serde": key_serde or self._key_serde,
            "value_serde": value_serde or self._value_serde,
            "partitioner": partitioner,
        }
        if callable(topic):
            self._add(DynamicSink, "KSTREAM-SINK-", name, topic_of=topic, **common)
        else:
            self._add(Sink, "KSTREAM-SINK-", name, topic=checked_name(topic, "topic"), **common)

    def to_table(
        self: StreamOutputs[Key, Value | None],
        *,
        key_serde: Serde[Key] | None = None,
        value_serde: Serde[Value] | None = None,
        store: TableStore | None = None,
        name: str | None = None,
    ) -> KTable[Key, Value]:
        """Makes a table of the stream: the row of a key is its last record; a record with the value `None` deletes it.

        Each record replaces the row of its key, even if its timestamp is older. The change has the timestamp of the
        record. Repartitions only if the key may have changed. Records without a key are dropped and counted.

        Args:
            key_serde: serde of the keys in the repartition and the store; default: the stream's.
            value_serde: serde of the values in the repartition and the store; default: the stream's.
            store: name of the store of the rows, to query it; or a store spec. With `Stores.versioned_key_value(...)`
                the table also keeps earlier versions of its rows, and a late record does not replace a newer row.
            name: name of the table node.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.to_table().to_stream(), ("a", 1, 10), ("a", None, 12))
            [Record(key='a', value=1, timestamp_ms=10), Record(key='a', value=None, timestamp_ms=12)]
        """
        from headrace.dsl.ktable import KTable  # tables make streams, and streams tables

        keys, values = key_serde or self._key_serde, value_serde or self._value_serde
        prefix = "KSTREAM-TOTABLE-"
        node_name = self._graph.names.node(name, prefix)
        rows = table_store_spec(
            self._graph.names.store(None, prefix) if store is None else store, "to_table", keys, values, VersionedSpec
        )
        parent = self._node
        if self._repartition_required:
            parent = add_repartition(self._graph, parent, node_name, key_serde=keys, value_serde=values)
        node = TableSource(name=node_name, parents=(parent,), store_when_needed=rows)
        self._graph.add(node)
        if store is not None:
            materialize_source(self._graph, node)
        return KTable._of_rows(NodeOutput(self._graph, node_name, keys, values), rows, queryable=store is not None)

    def repartition(
        self: StreamOutputs[Key, Value | None],
        name: str | None = None,
        *,
        partitions: int | None = None,
        partitioner: StreamPartitioner[K, V] | None = None,
        key_serde: Serde[Key] | None = None,
        value_serde: Serde[Value] | None = None,
    ) -> KStream[K, V]:
        """Repartitions the records by their key. Records without a key are dropped and counted.

        Args:
            name: names the internal topic, `<name>-repartition`. Default: a generated name.
            partitions: number of partitions; default: as many as the topic upstream with the most partitions.
            partitioner: `(topic, key, value, partitions) -> partition` decides which task gets a record. Equal keys
                must get the same partition; otherwise stateful operators downstream see only some of the records of a
                key. Default, and where it returns `None`: Kafka's rule, a hash of the serialized key.
            key_serde: serde of the keys from here on; default: the stream's.
            value_serde: serde of the values from here on; default: the stream's.

        Example:
            >>> from headrace.testing import run_stream
            >>> def by_length(stream):
            ...     return stream.select_key(lambda key, value: str(len(value))).repartition("lengths", partitions=4)
            >>> run_stream(by_length, ("a", "word", 10))
            [Record(key='4', value='word', timestamp_ms=10)]
        """
        if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
            message = f"repartition() was given partitions={partitions!r}; it must be a whole number of 1 or more."
            raise TopologyError(message)
        checked_partitioner(partitioner, "repartition")
        base = self._graph.names.generate("KSTREAM-REPARTITION-") if name is None else checked_name(name, "repartition")
        keys, values = key_serde or self._key_serde, value_serde or self._value_serde
        source = add_repartition(
            self._graph,
            self._node,
            base,
            key_serde=keys,
            value_serde=values,
            partitions=partitions,
            partitioner=partitioner,
        )
        return self._derive(source, keys, values, repartition_required=False)

    def for_each(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Calls `action(key, value)` for each record. Ends the stream.

        On Spark the action runs on the workers. It runs again for records of a micro-batch that is repeated after a
        failure.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.for_each(print), ("a", 1, 10))
            a 1
            []
        """
        checked_callable(action, "for_each", "action(key, value)")
        self._add(ForEach, "KSTREAM-FOREACH-", name, action=action)

    def print(
        self,
        *,
        label: str | None = None,
        mapper: Callable[[K, V], object] | None = None,
        file: str | PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        """Prints `[label]: key, value` for each record, as Kafka Streams does. Ends the stream.

        On Spark the workers print, or write to files on their machines. They print again when a micro-batch is repeated
        after a failure.

        Args:
            label: the text in brackets; default: the name of the operator that the records come from.
            mapper: `mapper(key, value)` returns what to print after the label, instead of key and value.
            file: path of a file to which lines are appended, in UTF-8, instead of printing them; it is created if it
                does not exist. Unlike in Kafka Streams, a start of the application does not empty it.
            name: name of the operator.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.print(label="in"), ("a", None, 10))
            [in]: a, null
            []
            >>> run_stream(lambda stream: stream.print(label="in", mapper=lambda key, value: value), ("a", "x", 10))
            [in]: x
            []
        """
        if mapper is not None:
            checked_callable(mapper, "print", "mapper(key, value)")
        self._add(
            Print,
            "KSTREAM-PRINTER-",
            name,
            label=self._node if label is None else label,
            mapper=mapper,
            file=None if file is None else _checked_file(file),
        )


def _checked_file(file: object) -> Path:
    if not isinstance(file, str | PathLike) or not str(file):
        message = f"print() was given file={file!r}; it must be the path of a file, e.g. 'records.txt'."
        raise TopologyError(message)
    path = Path(file).absolute()
    if path.is_dir():
        message = f"print() was given file={str(file)!r}, which is a directory; it must be the path of a file."
        raise TopologyError(message)
    return path
