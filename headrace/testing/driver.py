"""`TopologyTestDriver`: pipes records through a topology in this process, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, cast, overload

from headrace._core.metrics import readable
from headrace._graph.configured import configured
from headrace._graph.nodes import DynamicSink, Sink, Source
from headrace._runtime.defaults import Defaults
from headrace._runtime.local import LocalRuntime, Message
from headrace.config import StreamsConfig
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.topology import Topology
from headrace.errors import StreamsError, TopicError, known_names, nearest
from headrace.model.pending import Pending
from headrace.model.record import Headers, Record, check_timestamp
from headrace.model.type_variables import TypeVar
from headrace.serdes import Bytes, Serde

if TYPE_CHECKING:
    from headrace._graph.stores import StoreSpec

# The driver takes serdes from the topology at run time; only serdes given here say the types to the type checker.
K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
K2 = TypeVar("K2")
V2 = TypeVar("V2")
ViewT = TypeVar("ViewT")


class TopologyTestDriver:
    """Runs a topology record by record; each record is processed completely and then committed.

    The same operators run here and on Spark. All sub-topologies run in this process, repartitions have one partition.
    A record that fails changes nothing: `pipe` raises its error, and the driver can continue with the next record.

    Args:
        topology: the topology to test.
        config: settings; by default those of an application called "test".
        wall_clock_ms: the wall-clock time at the start; only `advance_wall_clock` moves it.

    Example:
        >>> import headrace as hr
        >>> builder = hr.StreamsBuilder()
        >>> builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     words = driver.input_topic("in")
        ...     words.pipe("a", "x", timestamp_ms=12)
        ...     driver.restart()
        ...     words.pipe("a", "y", timestamp_ms=10)
        ...     driver.output_topic("out").read_all()
        [Record(key='a', value=1, timestamp_ms=12), Record(key='a', value=2, timestamp_ms=12)]
    """

    __test__ = False

    def __init__(self, topology: Topology, config: StreamsConfig | None = None, *, wall_clock_ms: int = 0) -> None:
        self._config = config or StreamsConfig(application_id="test")
        self._graph = configured(topology._graph, self._config)
        self._defaults = Defaults.of(self._config)
        self._runtime = LocalRuntime(self._graph, self._config, wall_clock_ms)

    def input_topic(
        self, name: str, key_serde: Serde[K] | None = None, value_serde: Serde[V] | None = None
    ) -> TestInputTopic[K, V]:
        """An input topic of the topology, to pipe records into.

        Args:
            name: the topic.
            key_serde: serde of the keys; by default that of the topology. Pass the same one for a typed topic, or
                another one to write keys that the topology cannot decode.
            value_serde: serde of the values, likewise.
        """
        source = next((s for s in self._graph.nodes if isinstance(s, Source) and name in s.topics), None)
        if source is None or source.internal:
            known = self._graph.source_topics
            message = (
                f"The topology does not read topic {name!r}.{nearest(name, known)} It reads: {known_names(known)}."
            )
            raise TopicError(message)
        own_key_serde, own_value_serde = self._defaults.serdes(source)
        return TestInputTopic(self, name, key_serde or own_key_serde, value_serde or own_value_serde)

    def output_topic(
        self, name: str, key_serde: Serde[K] | None = None, value_serde: Serde[V] | None = None
    ) -> TestOutputTopic[K, V]:
        """An output topic of the topology, to read results from; keys and values of dead letters are bytes.

        If a function chooses output topics, any other name is accepted, too: nothing may have been written to it.

        Args:
            name: the topic.
            key_serde: serde of the keys; by default that of the topology. Pass the same one for a typed topic.
            value_serde: serde of the values, likewise.
        """
        if name == self._graph.dead_letter_topic:
            return TestOutputTopic(self._runtime, name, key_serde or Bytes(), value_serde or Bytes())
        sink: Sink | DynamicSink | None = next(
            (s for s in self._graph.nodes if isinstance(s, Sink) and name == s.topic), None
        )
        if sink is None and self._graph.dynamic_sinks:
            sink = self._dynamic_sink(name, key_serde, value_serde)
        if sink is None or (isinstance(sink, Sink) and sink.internal):
            known = self._graph.sink_topics
            message = (
                f"The topology does not write topic {name!r}.{nearest(name, known)} It writes: {known_names(known)}."
            )
            raise TopicError(message)
        own_key_serde, own_value_serde = self._defaults.serdes(sink)
        return TestOutputTopic(self._runtime, name, key_serde or own_key_serde, value_serde or own_value_serde)

    def _dynamic_sink(self, name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> DynamicSink:
        """A sink whose function may choose the topic; if several may, they must agree on the serdes that are needed."""
        first, *others = self._graph.dynamic_sinks
        keys, values = self._defaults.serdes(first)
        for other in others:
            other_keys, other_values = self._defaults.serdes(other)
            if (key_serde is None and other_keys != keys) or (value_serde is None and other_values != values):
                message = (
                    f"Sinks with different serdes may write to topic {name!r}: {first.name!r} and {other.name!r}. Give "
                    f"output_topic({name!r}, key_serde=..., value_serde=...) the serdes to read it with."
                )
                raise TopicError(message)
        return first

    @overload
    def store(self, store: StoreSpec[object, ViewT]) -> ViewT: ...

    @overload
    def store(self, store: str) -> Any: ...

    def store(self, store: StoreSpec | str) -> Any:
        """Returns the current contents of a state store, to read them.

        Args:
            store: its spec, as `Stores` returned it, for a typed view such as `ReadOnlyKeyValueStore[K, V]`; or its
                name.
        """
        name = store if isinstance(store, str) else store.name
        return self._defaults.view(self._graph, name, self._runtime.stores_named(name))

    def explain_pending(self, name: str | None = None) -> list[Pending]:
        """Explains missing output: what each operator holds back, and what would release it. See `Streams`."""
        return self._runtime.pending(name)

    def advance_wall_clock(self, duration: timedelta) -> None:
        """Moves the wall clock forward, runs each wall-clock punctuation that is due once, and closes idle keys."""
        if duration < timedelta(0):
            message = f"The wall clock only moves forward, so advance_wall_clock() refuses {duration!r}."
            raise StreamsError(message)
        self._runtime.advance(duration // timedelta(milliseconds=1))

    def restart(self) -> None:
        """Simulates a restart after a crash: restores the committed state and creates new processors."""
        self._runtime.restart()

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Counters by operator; `dropped` has the dropped records by reason."""
        return readable(self._runtime.metrics())

    def close(self) -> None:
        """Closes the processors; the driver cannot be used any more."""
        self._runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TestInputTopic(Generic[K, V]):
    """A topic to pipe records into."""

    __test__ = False

    def __init__(self, driver: TopologyTestDriver, name: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        self._driver = driver
        self._name = name
        self._key_serde = key_serde
        self._value_serde = value_serde

    def pipe(
        self,
        key: K | None,
        value: V | None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Processes one record completely; without a timestamp it gets the driver's wall-clock time.

        A negative timestamp goes to the timestamp extractor, or to the deserialization exception handler.
        """
        at = self._driver._runtime.wall_clock_ms if timestamp_ms is None else timestamp_ms
        check_timestamp(at, f"Record for topic {self._name!r}: timestamp_ms is")
        message = Message(self._key_serde.serialize(key), self._value_serde.serialize(value), at, tuple(headers))
        self._driver._runtime.pipe(self._name, partition or 0, message)


class TestOutputTopic(Generic[K, V]):
    """A topic to read results from."""

    __test__ = False

    def __init__(self, runtime: LocalRuntime, name: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        self._runtime = runtime
        self._name = name
        self._key_serde = key_serde
        self._value_serde = value_serde

    def read_all(self) -> list[Record[K, V]]:
        """Returns all records written since the last call, in order. Values may be `None`."""
        return [
            Record(
                cast("K", self._key_serde.deserialize(message.key)),
                cast("V", self._value_serde.deserialize(message.value)),
                message.timestamp_ms,
                message.headers,
            )
            for message in self._runtime.outputs.pop(self._name, [])
        ]


def run_table(build: Callable[[KTable[str, Any]], KTable[K2, V2]], *records: tuple[Any, ...]) -> list[Record[K2, V2]]:
    """Runs a part of a topology on a table of `(key, value, timestamp_ms)` records; returns the changes of its result.

    Example:
        >>> run_table(lambda table: table.map_values(str.upper), ("a", "x", 5))
        [Record(key='a', value='X', timestamp_ms=5)]
    """
    builder = StreamsBuilder()
    build(builder.table("input")).to_stream().to("output")
    with TopologyTestDriver(builder.build()) as driver:
        for record in records:
            driver.input_topic("input").pipe(*record)
        return driver.output_topic("output").read_all()


def run_stream(
    build: Callable[[KStream[str, Any]], KStream[K2, V2] | None], *records: tuple[Any, ...]
) -> list[Record[K2, V2]]:
    """Runs a part of a topology on `(key, value, timestamp_ms)` records; returns its output.

    Example:
        >>> run_stream(lambda stream: stream.map_values(str.upper), ("a", "x", 5))
        [Record(key='a', value='X', timestamp_ms=5)]
    """
    builder = StreamsBuilder()
    built = build(builder.stream("input"))
    if built is not None:
        built.to("output")
    with TopologyTestDriver(builder.build()) as driver:
        for record in records:
            driver.input_topic("input").pipe(*record)
        return driver.output_topic("output").read_all() if built is not None else []
