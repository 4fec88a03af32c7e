"""`KStream`: an unbounded stream of records."""

from __future__ import annotations

from headrace.dsl.streams.grouping import StreamGrouping
from headrace.dsl.streams.outer_joining import StreamOuterJoins
from headrace.dsl.streams.outputs import StreamOutputs
from headrace.dsl.streams.processing import StreamProcessing
from headrace.dsl.streams.stateless import StatelessOperators
from headrace.dsl.type_variables import K, V


class KStream(
    StatelessOperators[K, V], StreamOuterJoins[K, V], StreamGrouping[K, V], StreamProcessing[K, V], StreamOutputs[K, V]
):
    """A stream of records. Every operator returns a new stream, table or grouping and leaves this stream as it is.

    Operators keep the timestamp and the headers of a record, unless they say otherwise. An operator that may change the
    key marks the stream for repartitioning: a later aggregation or join by key then repartitions the records, in the
    same cases as in Kafka Streams.

    The methods are defined by theme in `headrace/dsl/streams`: stateless operators, joins, grouping, processors, and
    outputs.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = hr.StreamsBuilder()
        >>> words = builder.stream("lines").flat_map_values(str.split)
        >>> words.group_by(lambda line, word: word).count().to_stream().to("counts")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("lines").pipe("1", "to be or not to be", timestamp_ms=10)
        ...     {record.key: record.value for record in driver.output_topic("counts").read_all()}
        {'to': 2, 'be': 2, 'or': 1, 'not': 1}
    """
