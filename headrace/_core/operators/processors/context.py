"""The context through which a processor uses its task."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace._core.operator import AnyRecord
from headrace._core.task.context import TaskContext
from headrace._core.time.punctuation import Grid
from headrace.errors import StateError, StreamsError, known_names, nearest
from headrace.model.processor import Cancellable, PunctuationType, RecordMetadata, To

if TYPE_CHECKING:
    from headrace._core.operators.processors.processor import UserProcessor

_MILLISECOND = timedelta(milliseconds=1)


class NodeContext:
    """The `ProcessorContext` of one processor in one task."""

    def __init__(self, operator: UserProcessor, task: TaskContext) -> None:
        self._operator = operator
        self._task = task

    @property
    def task_id(self) -> str:
        return self._task.task_id

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def current_stream_time_ms(self) -> int:
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
        if name in operator.table_names:
            return task.global_tables[name]
        connected = f"Connected to it: {known_names((*operator.store_names, *operator.table_names))}."
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


def check_schedule(name: str, interval: object, kind: object, callback: object, time_shift: object) -> None:
    """Checks the arguments of `schedule()`.

    Raises:
        StreamsError: if one is not allowed; the message begins with `name`.
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
