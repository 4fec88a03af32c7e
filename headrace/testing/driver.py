"""`TopologyTestDriver`: pipes records through a topology in this process, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from headrace._core.metrics import readable
from headrace._graph.configured import configured
from headrace._graph.nodes import DynamicSink, Sink, Source
from headrace._graph.patterns import with_matching_topics
from headrace._runtime.defaults import Defaults
from headrace._runtime.local import LocalRuntime
from headrace._runtime.stores import known_store
from headrace.config import StreamsConfig
from headrace.dsl.topology import Topology
from headrace.errors import ConfigError, StreamsError, TopicError, known_names, nearest
from headrace.model.pending import Pending
from headrace.model.stores.specs import CustomSpec
from headrace.model.type_variables import TypeVar
from headrace.serdes import Bytes, Serde
from headrace.serdes.topics import for_topic
from headrace.testing.input_topic import TestInputTopic
from headrace.testing.output_topic import TestOutputTopic
from headrace.testing.stores import TestStore

if TYPE_CHECKING:
    from headrace.model.stores.interfaces import KeyValueStore
    from headrace.model.stores.specs import (
        KeyValueSpec,
        SessionSpec,
        StoreSpec,
        TimestampedKeyValueSpec,
        VersionedSpec,
        WindowSpec,
    )
    from headrace.model.stores.windowed_interfaces import SessionStore, WindowStore
    from headrace.testing.stores import WritableTimestampedKeyValueStore, WritableVersionedKeyValueStore

# At run time the driver takes serdes from the topology; type checkers know the types only from serdes passed here.
K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
ViewT = TypeVar("ViewT")


class TopologyTestDriver:
    """Runs a topology in this process, record by record: each record is processed completely, then committed.

    The operators are the same as on Spark. A record that fails changes nothing: `pipe` raises the error, and the driver
    can continue with the next record. After `close()`, all calls raise an error, also those of topics and stores that
    the driver returned.

    Args:
        topology: the topology to test.
        config: the settings; default: those of an application with the id "test".
        wall_clock_ms: the wall-clock time at the start, in epoch milliseconds; only `advance_wall_clock` advances it.
        partitions: the number of partitions of every input topic; or a dict with the number for each topic, where
            topics that are missing have one. Repartitions, output topics and tasks then have the same numbers as on
            Spark, and each record goes to the same partition as there. By default every topic has one partition, but
            `pipe(partition=...)` accepts any.

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

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        wall_clock_ms: int = 0,
        partitions: int | Mapping[str, int] | None = None,
    ) -> None:
        self._config = config or StreamsConfig(application_id="test")
        self._graph = configured(topology._graph, self._config)
        self._defaults = Defaults.of(self._config)
        self._runtime = LocalRuntime(self._graph, self._config, wall_clock_ms, partitions)
        self._closed = False

    def input_topic(
        self,
        name: str,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        *,
        start_timestamp_ms: int | None = None,
        auto_advance: timedelta = timedelta(0),
    ) -> TestInputTopic[K, V]:
        """Returns an input topic of the topology, to pipe records into.

        Args:
            name: the name of the topic; if the topology reads a pattern, any name that matches it.
            key_serde: serde of the keys; default: that of the topology. Pass the same one so that type checkers know
                the types, or another one to write keys that the topology cannot decode.
            value_serde: the same for the values.
            start_timestamp_ms: timestamp of the first record that is piped without one; default: the driver's
                wall-clock time.
            auto_advance: the time between two successive records that are piped without a timestamp. Default: 0.

        Raises:
            TopicError: if the topology does not read the topic.
        """
        self._open()
        source = self._source_of(name)
        if source is None:
            known = self._graph.shown_source_topics
            message = (
                f"The topology does not read topic {name!r}.{nearest(name, known)} It reads: {known_names(known)}."
            )
            raise TopicError(message)
        serdes = self._serdes(name, source, key_serde, value_serde)
        return TestInputTopic(self, name, *serdes, start_timestamp_ms, auto_advance)

    def _source_of(self, topic: str) -> Source | None:
        """Returns the source that reads a topic. A new topic that matches a pattern is first added to the topology."""
        if topic not in self._graph.source_topics and self._graph.shown_source_topics != self._graph.source_topics:
            known = dict.fromkeys((*self._graph.source_topics, topic), 1)
            graph = with_matching_topics(self._graph, known)
            if topic in graph.source_topics:
                self._graph = graph
                self._runtime.add_topic(topic)
        return next((source for source in self._graph.user_sources if topic in source.topics), None)

    def output_topic(
        self, name: str, key_serde: Serde[K] | None = None, value_serde: Serde[V] | None = None
    ) -> TestOutputTopic[K, V]:
        """Returns an output topic of the topology, to read results from.

        In the dead-letter topic, keys and values are bytes. If a function chooses output topics, any name is accepted,
        even if nothing has been written to that topic.

        Args:
            name: the name of the topic.
            key_serde: serde that decodes the keys, as a consumer of the topic would; default: that of the topology.
                Only if you pass a serde can a test notice that the topology writes keys in a wrong format.
            value_serde: the same for the values.

        Raises:
            TopicError: if the topology does not write to the topic.
        """
        self._open()
        if name == self._graph.dead_letter_topic:
            return TestOutputTopic(self, name, *self._serdes(name, None, key_serde, value_serde))
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
        return TestOutputTopic(self, name, *self._serdes(name, sink, key_serde, value_serde))

    def produced_topics(self) -> set[str]:
        """Returns the topics to which the topology has written at least one record, including the dead-letter topic."""
        return set(self._open().written)

    def _dynamic_sink(self, name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> DynamicSink:
        """Returns a sink whose function may choose the topic. If several may, serdes not given must be equal."""
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
    def store(self, store: KeyValueSpec[K, V], *, partition: int | None = None) -> KeyValueStore[K, V]: ...

    @overload
    def store(
        self, store: TimestampedKeyValueSpec[K, V], *, partition: int | None = None
    ) -> WritableTimestampedKeyValueStore[K, V]: ...

    @overload
    def store(self, store: WindowSpec[K, V], *, partition: int | None = None) -> WindowStore[K, V]: ...

    @overload
    def store(self, store: SessionSpec[K, V], *, partition: int | None = None) -> SessionStore[K, V]: ...

    @overload
    def store(
        self, store: VersionedSpec[K, V], *, partition: int | None = None
    ) -> WritableVersionedKeyValueStore[K, V]: ...

    @overload
    def store(self, store: StoreSpec[object, ViewT], *, partition: int | None = None) -> ViewT: ...

    @overload
    def store(self, store: str, *, partition: int | None = None) -> Any: ...

    def store(self, store: StoreSpec | str, *, partition: int | None = None) -> Any:
        """Returns a state store, to read it and to change its contents.

        The returned object always shows the committed contents, also after later records and restarts. It has the
        methods for reads that `app.store()` returns, and those for writes that a processor has, e.g.
        `put(key, value, timestamp_ms)` for a table. A write is committed at once. It changes the store in the task of
        the key's partition, by Kafka's rule. Operators do not see it as a record.

        Args:
            store: the store's spec, as `Stores` returned it, for a typed store such as `KeyValueStore[K, V]`; or the
                store's name.
            partition: reads and writes only the store in the task of this partition. By default, reads cover all tasks.
                Needed if records were piped into other partitions than those of their keys.

        Raises:
            StateError: if the topology has no such store.

        Example:
            >>> import headrace as hr
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     counts = driver.store("counts")
            ...     counts.put("a", 41, 10)
            ...     driver.input_topic("in").pipe("a", "x", timestamp_ms=12)
            ...     counts.get("a"), driver.output_topic("out").read_record()
            (42, Record(key='a', value=42, timestamp_ms=12))
        """
        self._open()
        name = store if isinstance(store, str) else store.name
        spec = known_store(self._graph, name)
        if isinstance(spec, CustomSpec):
            return self._defaults.view(self._graph, name, self._open().stores_named(name))
        return TestStore(self, spec, partition)

    def stores(self) -> dict[str, Any]:
        """Returns all state stores of the topology by name, as `store` does, including those that operators create."""
        return {name: self.store(name) for name in self._graph.stores}

    def explain_pending(self, name: str | None = None) -> list[Pending]:
        """Explains missing output: which results each operator holds back, and what would release them.

        See `Streams.explain_pending`.
        """
        return self._open().pending(name)

    def advance_wall_clock(self, duration: timedelta) -> None:
        """Advances the wall clock, then runs the wall-clock punctuations whose time has come, each once.

        Also closes the windows of idle keys (`stream_time_key_idle`).

        Raises:
            StreamsError: if the duration is negative.
        """
        if duration < timedelta(0):
            message = f"The wall clock only moves forward, so advance_wall_clock() refuses {duration!r}."
            raise StreamsError(message)
        self._open().advance(duration // timedelta(milliseconds=1))

    def restart(self) -> None:
        """Simulates a restart after a crash: restores the committed state, and creates new processors."""
        self._open().restart()

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Returns the counters by operator, and by output topic as `topic <name>`.

        The entry `dropped` of an operator counts its dropped records by reason.
        """
        return readable(self._open().metrics())

    def close(self) -> None:
        """Closes the processors. All other calls of the driver, its topics and its stores then raise an error."""
        if not self._closed:
            self._closed = True
            self._runtime.close()

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> LocalRuntime:
        """Returns the runtime.

        Raises:
            StreamsError: if the driver is closed.
        """
        if self._closed:
            message = (
                "This TopologyTestDriver is closed. Make all calls, also those that read topics and stores, before "
                "close() or inside its with block; or create another driver."
            )
            raise StreamsError(message)
        return self._runtime

    def _serdes(
        self,
        topic: str,
        node: Source | Sink | DynamicSink | None,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
    ) -> tuple[Serde[Any], Serde[Any]]:
        """Returns the given serdes of a topic, else those of its node; without a node, keys and values are bytes."""
        for given in (key_serde, value_serde):
            _check_serde(topic, given)
        own_key, own_value = (Bytes(), Bytes()) if node is None else self._defaults.serdes(node)
        return for_topic(
            topic,
            own_key if key_serde is None else self._defaults.resolve_key(key_serde),
            own_value if value_serde is None else self._defaults.resolve_value(value_serde),
        )


def _check_serde(topic: str, serde: object) -> None:
    if serde is not None and not isinstance(serde, Serde):
        message = f"Topic {topic!r} was given the serde {serde!r}; pass an object such as serdes.String()."
        raise ConfigError(message)
