"""The context through which a processor uses its task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headrace._core.metrics import counter_name, gauge_name
from headrace._core.operator import AnyRecord
from headrace._core.task.context import TaskContext
from headrace._core.time.punctuation import Grid
from headrace._suggestions.attributes import suggest_attributes
from headrace.errors import StateError, StreamsError, known_names, nearest
from headrace.model.processor import Cancellable, PunctuationType, RecordMetadata
from headrace.model.routing import To
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace._core.operators.processors.processor import UserProcessor

_MILLISECOND = timedelta(milliseconds=1)


@suggest_attributes
class NodeContext:
    """The `ProcessorContext` of one processor in one task."""

    def __init__(self, operator: UserProcessor, task: TaskContext) -> None:
        self._operator = operator
        self._task = task

    @property
    def name(self) -> str:
        """The name of the processor node."""
        return self._operator.name

    @property
    def task_id(self) -> str:
        return self._task.task_id

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def app_configs(self) -> Mapping[str, Any]:
        return self._task.settings.app_configs

    def app_configs_with_prefix(self, prefix: str) -> dict[str, Any]:
        return settings_with_prefix(self.app_configs, prefix)

    @property
    def key_serde(self) -> Serde[Any]:
        return self._task.settings.key_serde

    @property
    def value_serde(self) -> Serde[Any]:
        return self._task.settings.value_serde

    @property
    def state_dir(self) -> Path:
        return self._task.settings.state_dir

    @property
    def metrics(self) -> OwnMetrics:
        return OwnMetrics(self)

    @property
    def current_stream_time_ms(self) -> int:
        self._refuse_if_global("current_stream_time_ms", "tasks have different stream times")
        return self._task.stream_time_ms

    @property
    def current_system_time_ms(self) -> int:
        return self._task.system_time_ms

    @property
    def record_metadata(self) -> RecordMetadata:
        return self._task.record_metadata

    def forward(self, record: AnyRecord, to: To | None = None) -> None:
        self._operator.send(record, to)

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,  # noqa: A002  the name is Kafka's
        callback: Callable[[int], object],
        time_shift: timedelta | None = None,
    ) -> Cancellable:
        name = self._operator.name
        self._refuse_if_global("schedule()", "tasks would punctuate at different times")
        check_schedule(name, interval, type, callback, time_shift)
        task = self._task
        clock_ms = task.stream_time_ms if type is PunctuationType.STREAM_TIME else task.system_time_ms
        shift_ms = None if time_shift is None else time_shift // _MILLISECOND
        return task.agenda.add(name, Grid(type, interval // _MILLISECOND, shift_ms), callback, clock_ms)

    def state_store(self, store: Any) -> Any:
        operator, task = self._operator, self._task
        name: str = getattr(store, "name", store)
        if name in operator.store_names:
            return task.stores[name]
        if name in operator.read_only_names:
            return task.read_only_stores[name]
        connected = f"Connected to it: {known_names((*operator.store_names, *operator.read_only_names))}."
        if name in task.known_stores:
            message = (
                f"Store {name!r} is not connected to processor {operator.name!r}. {connected} Connect it: with "
                f"process(..., stores=[...]), or add_state_store(..., processors=[{operator.name!r}])."
            )
        else:
            known = task.known_stores
            message = (
                f"Processor {operator.name!r} asks for the store {name!r}, which does not exist.{nearest(name, known)} "
                f"{connected} Known stores: {known_names(known)}."
            )
        raise StateError(message)

    def commit(self) -> None:
        """Does nothing: every batch commits."""

    def add_to_counter(self, name: str, amount: int) -> None:
        """Adds to a counter of the processor."""
        self._task.metrics.add(self._operator.name, counter_name(name), amount)

    def set_gauge(self, name: str, value: int) -> None:
        """Sets the value that a gauge of the processor has in this task.

        Metrics are sums. So the task's store holds the last value, and the difference is added to the metric.
        """
        stored_under = f"gauge {self._operator.name} {name}".encode()
        store = self._task.processor_store
        difference = value - int(store.get(stored_under) or 0)
        if difference:
            store.put(stored_under, str(value).encode())
            self._task.metrics.add(self._operator.name, gauge_name(name), difference)

    def _refuse_if_global(self, member: str, because: str) -> None:
        if self._operator.is_global:
            message = (
                f"{self._operator.name}: {member} is not available to the processor of a global store: every task has "
                f"a copy of the store, all copies must stay equal, and {because}."
            )
            raise StreamsError(message)


def settings_with_prefix(settings: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The settings whose names begin with a prefix; the names are returned without the prefix."""
    return {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}


class _Metered(Protocol):
    """The context of a processor, as far as its metrics use it."""

    @property
    def name(self) -> str: ...

    def add_to_counter(self, name: str, amount: int) -> None: ...

    def set_gauge(self, name: str, value: int) -> None: ...


class OwnMetrics:
    """The `ProcessorMetrics` of one processor in one task."""

    def __init__(self, context: _Metered) -> None:
        self._context = context

    def counter(self, name: str) -> OwnCounter:
        return OwnCounter(self._context, self._checked(name))

    def gauge(self, name: str) -> OwnGauge:
        return OwnGauge(self._context, self._checked(name))

    def _checked(self, name: object) -> str:
        if not isinstance(name, str) or not name:
            message = f"{self._context.name}: a metric was given the name {name!r}; a name is a text."
            raise StreamsError(message)
        return name


class OwnCounter:
    """The `Counter` of one processor in one task. It holds no count itself, so a processor can keep it in a field."""

    def __init__(self, context: _Metered, name: str) -> None:
        self._context = context
        self._name = name

    def add(self, amount: int = 1) -> None:
        self._context.add_to_counter(self._name, checked_number(amount, self._context.name, self._name))


class OwnGauge:
    """The `Gauge` of one processor in one task."""

    def __init__(self, context: _Metered, name: str) -> None:
        self._context = context
        self._name = name

    def set(self, value: int) -> None:
        self._context.set_gauge(self._name, checked_number(value, self._context.name, self._name))


def checked_number(value: object, operator: str, metric: str) -> int:
    """Returns a value of a metric as an `int`.

    Raises:
        StreamsError: if it is not a whole number; the message names `operator` and `metric`.
    """
    if not isinstance(value, Integral):
        message = f"{operator}: metric {metric!r} was given {value!r}; it takes whole numbers."
        raise StreamsError(message)
    return int(value)


def check_schedule(name: str, interval: object, kind: object, callback: object, time_shift: object) -> None:
    """Checks the arguments of `schedule()`.

    Raises:
        StreamsError: if an argument is not allowed; the message begins with `name`.
    """
    if not isinstance(interval, timedelta) or interval < _MILLISECOND:
        message = f"{name}: schedule() was given the interval {interval!r}; it must be a timedelta of 1 ms or more."
        raise StreamsError(message)
    if not isinstance(kind, PunctuationType):
        message = f"{name}: schedule() was given the type {kind!r}; allowed: {', '.join(map(str, PunctuationType))}."
        raise StreamsError(message)
    if not callable(callback):
        message = f"{name}: schedule() needs a function callback(timestamp_ms); got {callback!r}."
        raise StreamsError(message)
    if time_shift is not None and not isinstance(time_shift, timedelta):
        message = f"{name}: schedule() was given time_shift={time_shift!r}; it must be a timedelta or None."
        raise StreamsError(message)
