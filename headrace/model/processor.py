"""The Processor API: operators of your own, with state stores, schedules, and control over what they forward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, overload

from headrace.model.record import Record
from headrace.model.routing import To
from headrace.model.type_variables import TypeVar

if TYPE_CHECKING:
    from headrace.model.stores.specs import StoreSpec
    from headrace.serdes import Serde

# Contravariant input and covariant output: a processor of `object` fits every stream. Type arguments that are left out
# are `Any`.
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
    """Topic, partition and offset of an input record; `None`, -1 and -1 in a punctuation, where there is none."""

    topic: str | None
    partition: int
    offset: int


class Cancellable(Protocol):
    """A schedule that can be cancelled; `ProcessorContext.schedule` returns it."""

    def cancel(self) -> None:
        """Ends the schedule, also from inside its callback; calling it again does nothing."""


class Counter(Protocol):
    """A number that a processor counts up. `metrics()` shows the sum over all tasks since the first start."""

    def add(self, amount: int = 1) -> None:
        """Adds to the counter; takes effect if the micro-batch is committed. The amount must be a whole number."""


class Gauge(Protocol):
    """A number that a processor sets. `metrics()` shows the sum of the last values of all tasks; restarts keep them."""

    def set(self, value: int) -> None:
        """Sets the value of this task, a whole number; takes effect if the micro-batch is committed."""


class ProcessorMetrics(Protocol):
    """Creates counters and gauges of a processor: whole numbers, committed exactly once with the micro-batch.

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
        """Returns the counter of that name; the processor may keep it in a field."""

    def gauge(self, name: str) -> Gauge:
        """Returns the gauge of that name; the processor may keep it in a field."""


class ProcessorContext(Protocol[KForward, VForward]):
    """What a processor can use: forwarding to its children, its stores, clocks, schedules and metrics.

    The type `ProcessorContext[K, V]` forwards `Record[K, V]`.

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
        """The `application_id` of the application."""

    @property
    def app_configs(self) -> Mapping[str, Any]:
        """The settings of the application by their names in `StreamsConfig`, and the entries of its `app_configs`.

        The settings `kafka` and `spark` are left out, because they may contain secrets.
        """

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]:
        """Returns the entries of `app_configs` whose names start with a prefix, under the names without the prefix."""

    @property
    def key_serde(self) -> Serde[Any]:
        """The default serde of keys: the setting `default_key_serde`, or `serdes.String()` if it is not set."""

    @property
    def value_serde(self) -> Serde[Any]:
        """The default serde of values: the setting `default_value_serde`, or `serdes.Json()` if it is not set."""

    @property
    def state_dir(self) -> Path:
        """The state directory of the application. Do not write files there: keep your data in stores."""

    @property
    def metrics(self) -> ProcessorMetrics:
        """Creates the processor's own counters and gauges, e.g. `context.metrics.counter("duplicates")`.

        `metrics()` of the application and of the test driver shows them.
        """

    @property
    def current_stream_time_ms(self) -> int:
        """The highest timestamp of the records that the task has processed or is processing; -1 before the first.

        It survives restarts. The timestamps of forwarded records do not advance it.
        """

    @property
    def current_system_time_ms(self) -> int:
        """The wall-clock time, in epoch milliseconds.

        On Spark it is the time at which the micro-batch was planned: it does not advance during a micro-batch. In the
        test driver only the test advances it.
        """

    @property
    def record_metadata(self) -> RecordMetadata:
        """Topic, partition and offset of the input record being processed; `None`, -1 and -1 in a punctuation."""

    def forward(self, record: Record[KForward, VForward], to: To | None = None) -> None:
        """Sends a record to the children, and returns when they have processed it (depth first).

        The timestamp of the record is the one that `to` sets, else its own. If neither is set, it is the timestamp of
        the record being processed or, in a punctuation, the time passed to the callback. Headers are those of the
        record that is passed.

        Args:
            record: the record to forward.
            to: which children get the record, and its timestamp; default: all children.

        Raises:
            StreamsError: for a child that does not exist, and outside of `process` and punctuations.
        """

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,  # noqa: A002  the name is Kafka's
        callback: Callable[[int], object],
        time_shift: timedelta | None = None,
    ) -> Cancellable:
        """Calls `callback(timestamp_ms)` at regular intervals, with the current time of the clock.

        If the clock jumps over several intervals, the callback is called once. Stream time is checked after every
        record, wall-clock time once in each micro-batch, or when a test advances the clock of the test driver.

        Args:
            interval: time between two calls, a millisecond or more.
            type: the clock to follow, stream time or wall-clock time.
            callback: the function to call.
            time_shift: if set, the callback is called at `time_shift + n * interval` since the epoch, also after a
                restart. Default: with wall-clock time, intervals are counted from now; with stream time, from the next
                check of stream time, which also calls the callback.

        Returns:
            A handle to cancel the schedule.

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
            store: the store's spec, as `Stores` returned it, for a typed store; or the store's name.

        Raises:
            StateError: for a store that does not exist, or is not connected.
        """

    def commit(self) -> None:
        """Requests a commit. It has no effect: every micro-batch commits."""


class _Lifecycle(ABC, Generic[KIn, VIn, KOut, VOut]):
    """The methods that both kinds of processors have."""

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Called once per task, before its first record. Sets `self.context`.

        A method that overrides it should call `super().init(context)`, or set `self.context` itself.
        """
        self.context = context

    @abstractmethod
    def process(self, record: Record[KIn, VIn]) -> None:
        """Processes one record, whose key and value may be `None`.

        Results are forwarded with `self.context.forward()`. If the method raises an error, the setting
        `processing_exception_handler` decides what happens.
        """

    def stores(self) -> Iterable[StoreSpec]:
        """Returns specs of the stores that the processor uses, besides those given with `stores=` (KIP-401).

        The stores are added to the topology and connected when the processor is added. Processors that return equal
        specs share the store, and run in the same task. If the factory is an object with a method `stores`, that method
        is called instead.

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
        """Called when the test driver is closed. It is not called on Spark, where a task has no defined end."""


class Processor(_Lifecycle[KIn, VIn, KOut, VOut]):
    """An operator of your own, for `KStream.process()` and `Topology.add_processor()`.

    `Processor[KIn, VIn, KOut, VOut]` declares the types of the records that it processes and forwards; without type
    arguments they are `Any`. Every task has its own processor object. Fields keep their values between records, but not
    after a restart: keep state that must survive in a store. On Spark, fields must be picklable. Leave out other fields
    with `__getstate__`, and create them again when they are needed.

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

    `FixedKeyProcessor[K, VIn, VOut]` declares the types of the keys, and of the values that it processes and forwards.
    It may only forward records with the key of the record being processed, such as `record.with_value(...)`.

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
"""`(name, process) -> process`: wraps the processing of an operator, for `StreamsConfig(processor_wrapper=...)`.

It gets the name of a node and the function that processes a record there. It returns the function `(record) -> None` to
call instead. At a table operator, the value of a record is a `Change`.
"""


class ValueTransformerWithKey(ABC, Generic[Key, VIn, VOut]):
    """Computes the values of a table's rows, with stores of its own, for `KTable.transform_values()`.

    `ValueTransformerWithKey[K, VIn, VOut]` declares the types of the keys, and of the values that it gets and returns.
    Every task has its own transformer object. Keep state that must survive a restart in a store.

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
        """Called once per task, before its first record. Sets `self.context`.

        A method that overrides it should call `super().init(context)`, or set `self.context` itself. The context has
        stores, clocks and schedules, but `forward` raises an error: the value that `transform` returns is the only
        result.
        """
        self.context = context

    @abstractmethod
    def transform(self, key: Key, value: VIn | None) -> VOut | None:
        """Returns the new value of a row; `None` deletes the row. For a deleted row, `value` is `None`."""

    def close(self) -> None:
        """Called when the test driver is closed. It is not called on Spark, where a task has no defined end."""


AnyProcessor = Processor | FixedKeyProcessor | ValueTransformerWithKey
ProcessorFactory = Callable[[], AnyProcessor]
