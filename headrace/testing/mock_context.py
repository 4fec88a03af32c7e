"""`MockProcessorContext`: tests a processor on its own, without a topology around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, overload

from headrace._core.operators.processors.context import OwnMetrics, check_schedule, settings_with_prefix
from headrace._core.operators.processors.forwarding import check_forward, with_forward_time
from headrace._runtime.defaults import Defaults
from headrace._runtime.stores import make_store
from headrace._state.bytes.memory import MemoryStore
from headrace.config import StreamsConfig
from headrace.errors import StateError, StreamsError, known_names, nearest
from headrace.model.checks import checked_timestamp
from headrace.model.processor import PunctuationType, RecordMetadata
from headrace.model.record import Record
from headrace.model.routing import To
from headrace.model.type_variables import TypeVar
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.model.stores.specs import StoreSpec

K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
StoreT = TypeVar("StoreT")

_NAME = "MockProcessorContext"
_NOWHERE = RecordMetadata(topic=None, partition=-1, offset=-1)


class CapturedForward(NamedTuple, Generic[K, V]):
    """A record that a processor forwarded, as its children get it. A `child_name` of `None` means all children."""

    record: Record[K, V]
    child_name: str | None = None


@dataclass(eq=False, repr=False)
class CapturedPunctuator:
    """A schedule of a processor, which the test can fire. Its attributes are the arguments of `schedule()`."""

    interval: timedelta
    type: PunctuationType
    callback: Callable[[int], object]
    time_shift: timedelta | None
    cancelled: bool = field(default=False, init=False)
    _context: MockProcessorContext[Any, Any] = field(kw_only=True)

    def __repr__(self) -> str:
        state = ", cancelled" if self.cancelled else ""
        return f"CapturedPunctuator({self.interval}, {self.type.value}{state})"

    def cancel(self) -> None:
        """Ends the schedule; calling it again does nothing."""
        self.cancelled = True

    def punctuate(self, timestamp_ms: int | None = None) -> None:
        """Calls the callback of the schedule.

        During the call the context has no record metadata, and records that are forwarded without a timestamp get
        `timestamp_ms`.

        Args:
            timestamp_ms: the time passed to the callback. Default: `current_stream_time_ms` or
                `current_system_time_ms` of the context, depending on the type of the schedule.

        Raises:
            StreamsError: if the schedule was cancelled, or if the time is negative, because stream time was not set.
        """
        if self.cancelled:
            message = f"{self!r} does not fire any more, because it was cancelled."
            raise StreamsError(message)
        self._context._punctuate(self.type, self.callback, timestamp_ms)


class _Values:
    """Collects the values of the counters and gauges of a processor."""

    name = _NAME

    def __init__(self, values: dict[str, int]) -> None:
        self._values = values

    def add_to_counter(self, name: str, amount: int) -> None:
        self._values[name] = self._values.get(name, 0) + amount

    def set_gauge(self, name: str, value: int) -> None:
        self._values[name] = value


class MockProcessorContext(Generic[K, V]):
    """A `ProcessorContext` for tests of a single processor: it captures what the processor forwards and schedules.

    Call `processor.init(context)` and then `processor.process(record)` yourself. The context does nothing on its own:
    the test sets clocks and record metadata, and fires schedules. The stores are the usual ones, in memory. To test a
    processor together with its topology, use `TopologyTestDriver`.

    Args:
        config: the settings, e.g. default serdes for stores; default: those of an application with the id "test".
        stores: specs of the stores that are connected to the processor, as `Stores` returns them.
        task_id: the id of the task.

    Attributes:
        record_metadata: topic, partition and offset of the current record; can be set.
        timestamp_ms: the timestamp for records that are forwarded without one; can be set. If it is `None`, as at
            first, such records are captured without a timestamp.
        current_stream_time_ms: the stream time of the task, -1 at first; can be set.
        current_system_time_ms: the wall-clock time, 0 at first; can be set.
        commit_count: how often the processor has requested a commit.

    Example:
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> totals = hr.Stores.key_value("totals", value_serde=serdes.Long())
        >>> class Total(hr.Processor[str, int, str, int]):
        ...     def process(self, record: hr.Record[str, int]) -> None:
        ...         store = self.context.state_store(totals)
        ...         store.put(record.key, (store.get(record.key) or 0) + record.value)
        ...         self.context.forward(record.with_value(store.get(record.key)), hr.To.child("sums"))
        >>> context = MockProcessorContext(stores=[totals])
        >>> context.state_store(totals).put("a", 40)
        >>> processor = Total()
        >>> processor.init(context)
        >>> processor.process(hr.Record("a", 2, 12))
        >>> context.forwarded()
        [CapturedForward(record=Record(key='a', value=42, timestamp_ms=12), child_name='sums')]
    """

    def __init__(
        self, config: StreamsConfig | None = None, *, stores: Iterable[StoreSpec] = (), task_id: str = "0_0"
    ) -> None:
        self._config = config or StreamsConfig(application_id="test")
        self._defaults = Defaults.of(self._config)
        self._stores: dict[str, Any] = {}
        self._task_id = task_id
        self._forwarded: list[CapturedForward[K, V]] = []
        self._punctuators: list[CapturedPunctuator] = []
        self.record_metadata = _NOWHERE
        self.timestamp_ms: int | None = None
        self.current_stream_time_ms = -1
        self.current_system_time_ms = 0
        self.commit_count = 0
        self._metrics: dict[str, int] = {}
        for store in stores:
            self.add_state_store(store)

    @property
    def task_id(self) -> str:
        """The id of the task, `<sub-topology>_<partition>`."""
        return self._task_id

    @property
    def app_configs(self) -> Mapping[str, Any]:
        """The settings of the application by their names in `StreamsConfig`, and the entries of its `app_configs`."""
        return self._defaults.processor_settings.app_configs

    def app_configs_with_prefix(self, prefix: str) -> dict[str, Any]:
        """Returns the entries of `app_configs` whose names start with a prefix, under the names without the prefix."""
        return settings_with_prefix(self.app_configs, prefix)

    @property
    def key_serde(self) -> Serde[Any]:
        """The default serde of keys: the setting `default_key_serde`, or `serdes.String()` if it is not set."""
        return self._defaults.processor_settings.key_serde

    @property
    def value_serde(self) -> Serde[Any]:
        """The default serde of values: the setting `default_value_serde`, or `serdes.Json()` if it is not set."""
        return self._defaults.processor_settings.value_serde

    @property
    def state_dir(self) -> Path:
        """The `state_dir` of the settings that this object was created with."""
        return self._defaults.processor_settings.state_dir

    @property
    def metrics(self) -> OwnMetrics:
        """Creates counters and gauges of the processor; `metric_values` returns their values."""
        return OwnMetrics(_Values(self._metrics))

    def metric_values(self) -> dict[str, int]:
        """Returns the current values of the processor's counters and gauges, by name."""
        return dict(self._metrics)

    @property
    def application_id(self) -> str:
        """The `application_id` of the application."""
        return self._config.application_id

    def forward(self, record: Record[K, V], to: To | None = None) -> None:
        """Captures a record, with the timestamp that its children would see.

        That is the timestamp that `to` sets, else the record's own. If neither is set, it is the time of the
        punctuation, or `timestamp_ms` of this context.
        """
        check_forward(_NAME, record, to)
        sent = with_forward_time(record, to, self.timestamp_ms)
        self._forwarded.append(CapturedForward(sent, None if to is None else to.name))

    def forwarded(self, child_name: str | None = None) -> list[CapturedForward[K, V]]:
        """Returns the records forwarded so far, in order.

        Args:
            child_name: only records that the child of this name gets: forwarded to it or to all children.
        """
        return [each for each in self._forwarded if child_name is None or each.child_name in (None, child_name)]

    def reset_forwards(self) -> None:
        """Forgets the records captured so far."""
        self._forwarded.clear()

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,  # noqa: A002  the name is Kafka's
        callback: Callable[[int], object],
        time_shift: timedelta | None = None,
    ) -> CapturedPunctuator:
        """Captures a schedule. Only the test fires it, with `CapturedPunctuator.punctuate`."""
        check_schedule(_NAME, interval, type, callback, time_shift)
        punctuator = CapturedPunctuator(interval, type, callback, time_shift, _context=self)
        self._punctuators.append(punctuator)
        return punctuator

    def scheduled_punctuators(self) -> list[CapturedPunctuator]:
        """Returns all schedules so far, in order, including cancelled ones."""
        return list(self._punctuators)

    def add_state_store(self, store: StoreSpec) -> None:
        """Connects a new, empty store."""
        self._stores[store.name] = make_store(store, MemoryStore(), self._defaults.serdes(store))

    @overload
    def state_store(self, store: StoreSpec[StoreT]) -> StoreT: ...

    @overload
    def state_store(self, store: str) -> Any: ...

    def state_store(self, store: StoreSpec | str) -> Any:
        """Returns a connected store, for the processor and for the test.

        Args:
            store: the store's spec, as `Stores` returned it, for a typed store; or the store's name.

        Raises:
            StateError: if the store is not connected.
        """
        name = store if isinstance(store, str) else store.name
        if name not in self._stores:
            message = (
                f"The {_NAME} has no store {name!r}.{nearest(name, self._stores)} It has: {known_names(self._stores)}. "
                f"Connect it with {_NAME}(stores=[...]) or add_state_store()."
            )
            raise StateError(message)
        return self._stores[name]

    def commit(self) -> None:
        """Counts the request in `commit_count`."""
        self.commit_count += 1

    def reset_commit(self) -> None:
        """Sets the number of requested commits to 0."""
        self.commit_count = 0

    def _punctuate(self, kind: PunctuationType, callback: Callable[[int], object], timestamp_ms: int | None) -> None:
        is_stream_time = kind is PunctuationType.STREAM_TIME
        if timestamp_ms is None:
            timestamp_ms = self.current_stream_time_ms if is_stream_time else self.current_system_time_ms
        if checked_timestamp(timestamp_ms, "punctuate()") < 0:
            message = (
                f"punctuate() would fire at {timestamp_ms}: pass a time, or set {_NAME}.current_stream_time_ms first."
            )
            raise StreamsError(message)
        before = self.record_metadata, self.timestamp_ms
        self.record_metadata, self.timestamp_ms = _NOWHERE, timestamp_ms
        try:
            callback(timestamp_ms)
        finally:
            self.record_metadata, self.timestamp_ms = before
