"""The Processor API: your own operators, with state stores, schedules, and control over forwarded records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, overload

from headrace._suggestions.attributes import SuggestingMeta
from headrace.errors import StreamsError
from headrace.model.record import Record
from headrace.model.type_variables import TypeVar

if TYPE_CHECKING:
    from headrace.model.stores.specs import StoreSpec
    from headrace.serdes import Serde

# Contravariant input and covariant output: a processor of `object` fits every stream. Without type arguments, all are
# `Any`.
KIn = TypeVar("KIn", contravariant=True, default=Any)
VIn = TypeVar("VIn", contravariant=True, default=Any)
KOut = TypeVar("KOut", covariant=True, default=Any)
VOut = TypeVar("VOut", covariant=True, default=Any)
Key = TypeVar("Key", default=Any)
KForward = TypeVar("KForward", contravariant=True, default=Any)
VForward = TypeVar("VForward", contravariant=True, default=Any)
StoreT = TypeVar("StoreT")


class PunctuationType(Enum):
    """Which clock a schedule follows: the task's stream time, or the system's wall clock."""

    STREAM_TIME = "stream time"
    WALL_CLOCK_TIME = "wall-clock time"


class RecordMetadata(NamedTuple):
    """Topic, partition and offset of an input record; `None`, -1 and -1 if there is none, as in a punctuation."""

    topic: str | None
    partition: int
    offset: int


@dataclass(frozen=True)
class To(metaclass=SuggestingMeta):
    """The children to forward a record to, and the timestamp it gets. Immutable.

    Example:
        >>> To.child("audit").with_timestamp(12)
        To(name='audit', timestamp_ms=12)
    """

    name: str | None = None
    timestamp_ms: int | None = None

    @classmethod
    def all(cls) -> Self:
        """Selects all children, in the order they were added."""
        return cls()

    @classmethod
    def child(cls, name: str) -> Self:
        """Selects only the child of that name: a processor or a sink."""
        return cls(name)

    def with_timestamp(self, timestamp_ms: int) -> Self:
        """Returns a copy that sets the timestamp of the record; it wins over the record's own.

        Raises:
            StreamsError: for a negative timestamp.
        """
        if not isinstance(timestamp_ms, int) or timestamp_ms < 0:
            message = f"To.with_timestamp() was given {timestamp_ms!r}; a timestamp is a whole number of 0 or greater."
            raise StreamsError(message)
        return replace(self, timestamp_ms=timestamp_ms)


class Cancellable(Protocol):
    """A schedule that can be cancelled."""

    def cancel(self) -> None:
        """Ends the schedule, also from inside its callback; calling it again does nothing."""


class Counter(Protocol):
    """A number that a processor counts up; `metrics()` has the sum over all tasks and restarts."""

    def add(self, amount: int = 1) -> None:
        """Adds to the counter, if the micro-batch is committed."""


class Gauge(Protocol):
    """A number that a processor sets; `metrics()` has the sum of the last values of all tasks, also after a restart."""

    def set(self, value: int) -> None:
        """Sets the value of this task, if the micro-batch is committed."""


class ProcessorMetrics(Protocol):
    """The own metrics of a processor. They are whole numbers, and become visible with the commit, exactly once.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import TopologyTestDriver
        >>> class Watch(hr.Processor[str, int, str, int]):
        ...     def init(self, context: hr.ProcessorContext[str, int]) -> None:
        ...         self.negative = context.metrics.counter("negative")
        ...         self.last = context.metrics.gauge("last")
        ...
        ...     def process(self, record: hr.Record[str, int]) -> None:
        ...         self.last.set(record.value)
        ...         if record.value < 0:
        ...             self.negative.add()
        >>> builder = hr.StreamsBuilder()
        >>> watched = builder.stream("in").process(Watch, name="watch")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     for value in (3, -1, -5, 4):
        ...         driver.input_topic("in").pipe("k", value, timestamp_ms=1)
        ...     driver.metrics()["watch"]
        {'counters': {'negative': 2}, 'gauges': {'last': 4}}
    """

    def counter(self, name: str) -> Counter:
        """Returns the counter of that name; it may be kept in a field."""

    def gauge(self, name: str) -> Gauge:
        """Returns the gauge of that name; it may be kept in a field."""


class ProcessorContext(Protocol[KForward, VForward]):
    """Gives a processor its children, its stores and its clocks; `ProcessorContext[K, V]` forwards `Record[K, V]`.

    Example:
        >>> from datetime import timedelta
        >>> import headrace as hr
        >>> from headrace.testing import run_stream
        >>> class Heartbeat(hr.Processor[str, str, str, str]):
        ...     def init(self, context: hr.ProcessorContext[str, str]) -> None:
        ...         self.context = context
        ...         context.schedule(timedelta(milliseconds=10), hr.PunctuationType.STREAM_TIME, self.beat)
        ...
        ...     def process(self, record: hr.Record[str, str]) -> None:
        ...         pass
        ...
        ...     def beat(self, timestamp_ms: int) -> None:
        ...         self.context.forward(hr.Record("beat", self.context.task_id))
        >>> run_stream(lambda stream: stream.process(Heartbeat), ("a", "x", 5), ("a", "x", 9), ("a", "x", 16))
        [Record(key='beat', value='0_0', timestamp_ms=5), Record(key='beat', value='0_0', timestamp_ms=16)]
    """

    @property
    def task_id(self) -> str:
        """The id of the task, `<sub-topology>_<partition>`."""

    @property
    def application_id(self) -> str:
        """The application's id."""

    @property
    def app_configs(self) -> Mapping[str, Any]:
        """The application's settings, by the names of `StreamsConfig`, and its own ones from `app_configs`.

        Without `kafka` and `spark`, which may have secrets.
        """

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]:
        """The settings of `app_configs` whose names start with the prefix, without it."""

    @property
    def key_serde(self) -> Serde[Any]:
        """The default serde of keys."""

    @property
    def value_serde(self) -> Serde[Any]:
        """The default serde of values."""

    @property
    def state_dir(self) -> Path:
        """The application's state directory. It is only for reference: keep your data in stores, not in files there."""

    @property
    def metrics(self) -> ProcessorMetrics:
        """The processor's own counters and gauges, which `metrics()` of the application and the test driver show."""

    @property
    def current_stream_time_ms(self) -> int:
        """The highest timestamp of the records that the task has processed or is processing; -1 before the first.

        It survives restarts. The timestamps of forwarded records do not advance it.
        """

    @property
    def current_system_time_ms(self) -> int:
        """The wall-clock time; it does not advance during a micro-batch, or a step of the test driver."""

    @property
    def record_metadata(self) -> RecordMetadata:
        """Topic, partition and offset of the input record being processed; `None`, -1 and -1 in a punctuation."""

    def forward(self, record: Record[KForward, VForward], to: To | None = None) -> None:
        """Sends a record to the children, depth first: it returns when they have processed the record.

        The record gets the timestamp of `to`; without one it keeps its own; a record without a timestamp gets that of
        the record being processed, or the time that fired the punctuation. It keeps its headers.

        Raises:
            StreamsError: for an unknown child, and outside `process` and punctuations.
        """

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,  # noqa: A002  the name is Kafka's
        callback: Callable[[int], object],
        time_shift: timedelta | None = None,
    ) -> Cancellable:
        """Calls `callback(timestamp_ms)` at regular times, with the time that fired it.

        With a `time_shift` it is due at `time_shift + n * interval` since the epoch, also after a restart. Without one,
        a stream-time schedule starts at the first record after this call, which fires it; a wall-clock schedule starts
        now. A clock that jumps over several due times fires once. Stream time is checked after every record.

        Raises:
            StreamsError: for an interval below a millisecond, an unknown type, or a callback that is not callable.
        """

    @overload
    def state_store(self, store: StoreSpec[StoreT]) -> StoreT: ...

    @overload
    def state_store(self, store: str) -> Any: ...

    def state_store(self, store: StoreSpec | str) -> Any:
        """Returns a store that is connected to this processor.

        Args:
            store: its spec, as `Stores` returned it, for a typed store; or its name.

        Raises:
            StateError: for a store that does not exist, or is not connected.
        """

    def commit(self) -> None:
        """Requests a commit. It has no effect: every micro-batch commits."""


class _Lifecycle(ABC, Generic[KIn, VIn, KOut, VOut]):
    """The methods of both kinds of processors: `init`, `process`, `close`."""

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Called once per task, before its first record. Stores the context in `self.context`."""
        self.context = context

    @abstractmethod
    def process(self, record: Record[KIn, VIn]) -> None:
        """Processes one record."""

    def stores(self) -> Iterable[StoreSpec]:
        """The stores that the processor uses, in addition to those it is given with `stores=` (KIP-401).

        They are added to the topology and connected to the processor when it is added. Processors that return equal
        specs share the store, and run in the same task. A factory that is an object may have such a method, too, and is
        then asked instead.

        Example:
            >>> import headrace as hr
            >>> from headrace import serdes
            >>> from headrace.testing import run_stream
            >>> seen = hr.Stores.key_value("seen", value_serde=serdes.Long())
            >>> class First(hr.Processor[str, int, str, int]):
            ...     def stores(self) -> list[hr.StoreSpec]:
            ...         return [seen]
            ...
            ...     def process(self, record: hr.Record[str, int]) -> None:
            ...         if self.context.state_store(seen).put_if_absent(record.key, record.value) is None:
            ...             self.context.forward(record)
            >>> run_stream(lambda stream: stream.process(First), ("a", 1, 10), ("a", 2, 11))
            [Record(key='a', value=1, timestamp_ms=10)]
        """
        return ()

    def close(self) -> None:
        """Called when the test driver is closed. On Spark it is not called, because tasks have no end there."""


class Processor(_Lifecycle[KIn, VIn, KOut, VOut]):
    """An operator of your own, for `KStream.process()` and `Topology.add_processor()`.

    `Processor[KIn, VIn, KOut, VOut]` declares the types of the records it processes and forwards; without them they are
    `Any`. Every task has its own processor. Its fields last as long as the task; state that must survive a restart
    belongs in a store. On Spark, fields must be picklable: exclude others with `__getstate__`, and create them when
    they are needed.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import run_stream
        >>> class Later(hr.Processor[str, str, str, str]):
        ...     def process(self, record: hr.Record[str, str]) -> None:
        ...         self.context.forward(record)
        ...         self.context.forward(record.with_value("later"), to=hr.To.all().with_timestamp(99))
        >>> run_stream(lambda stream: stream.process(Later), ("a", "now", 10))
        [Record(key='a', value='now', timestamp_ms=10), Record(key='a', value='later', timestamp_ms=99)]
    """


class FixedKeyProcessor(_Lifecycle[Key, VIn, Key, VOut], Generic[Key, VIn, VOut]):
    """A processor that keeps the key, for `KStream.process_values()`.

    `FixedKeyProcessor[K, VIn, VOut]` declares the types of keys, and of the values it processes and forwards. It
    forwards only records derived from its input, with `record.with_value(...)`.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import run_stream
        >>> class Twice(hr.FixedKeyProcessor[str, int, int]):
        ...     def process(self, record: hr.Record[str, int]) -> None:
        ...         self.context.forward(record.with_value(record.value * 2))
        >>> run_stream(lambda stream: stream.process_values(Twice), ("a", 4, 10))
        [Record(key='a', value=8, timestamp_ms=10)]
    """


ProcessorWrapper = Callable[[str, Callable[[Record[Any, Any]], None]], Callable[[Record[Any, Any]], None]]
"""`(name, process) -> process`: gets the name of a node and the function by which it processes a record, and returns a
function to call instead. The value of a record at a table operator is a `Change`.
"""


class ValueTransformerWithKey(ABC, Generic[Key, VIn, VOut]):
    """Computes the values of a table's rows, with stores of its own, for `KTable.transform_values()`.

    `ValueTransformerWithKey[K, VIn, VOut]` declares the types of keys, and of the values before and after. Every task
    has its own transformer; state that must survive a restart belongs in a store, as with `Processor`.

    Example:
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> from headrace.testing import run_table
        >>> seen = hr.Stores.key_value("seen", value_serde=serdes.Long())
        >>> class Numbered(hr.ValueTransformerWithKey[str, str, str]):
        ...     def transform(self, key: str, value: str | None) -> str | None:
        ...         changes = self.context.state_store(seen)
        ...         number = (changes.get(key) or 0) + 1
        ...         changes.put(key, number)
        ...         return None if value is None else f"{value} ({number})"
        >>> def numbered(table):
        ...     return table.transform_values(Numbered, stores=[seen])
        >>> [record.value for record in run_table(numbered, ("a", "x", 1), ("a", "y", 2), ("a", None, 3))]
        ['x (1)', 'y (2)', None]
    """

    context: ProcessorContext[Key, VOut]

    def init(self, context: ProcessorContext[Key, VOut]) -> None:
        """Called once per task, before its first record. Stores the context in `self.context`.

        The context gives access to stores, clocks and schedules. It forwards no records: a value that `transform`
        returns is the only result.
        """
        self.context = context

    @abstractmethod
    def transform(self, key: Key, value: VIn | None) -> VOut | None:
        """Returns the new value of a row; `None` deletes the row. It is also called for deleted rows, with `None`."""

    def close(self) -> None:
        """Called when the test driver is closed. On Spark it is not called, because tasks have no end there."""


AnyProcessor = Processor | FixedKeyProcessor | ValueTransformerWithKey
ProcessorFactory = Callable[[], AnyProcessor]
