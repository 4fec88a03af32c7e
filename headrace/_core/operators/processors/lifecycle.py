"""The user's processors in a task: creating and restoring them, the task's stream time, punctuations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from headrace._core.errors.failure import init_error
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.operators.processors.processor import UserProcessor
from headrace._core.task.context import TaskContext
from headrace._core.time.punctuation import Agenda, Memory, Schedule
from headrace._state.bytes.api import ByteStore
from headrace.errors import StreamsError
from headrace.model.processor import AnyProcessor, PunctuationType

_STREAM_TIME = b"stream time"


class ProcessorState(NamedTuple):
    """The in-memory state of a task's processors: the processors by node, and their schedules."""

    processors: dict[str, AnyProcessor]
    agenda: Memory


LoadProcessorState = Callable[[Mapping[str, Any]], ProcessorState | None]


class Processors:
    """The user's processors of a task. They outlive the task object, which is built anew for every batch.

    Args:
        context: the task's context.
        operators: the operators that run the user's processors.
        store: the task's own store.
        load_state: loads the state that the last batch saved, if there is any; its argument is `fixtures`.
    """

    def __init__(
        self,
        context: TaskContext,
        operators: Sequence[UserProcessor],
        store: ByteStore,
        load_state: LoadProcessorState | None,
    ) -> None:
        self._context = context
        self._operators = {operator.name: operator for operator in operators}
        self._store = context.processor_store = store
        self._agenda = context.agenda = Agenda(store)
        stored = store.get(_STREAM_TIME)
        context.stream_time_ms = self._saved_ms = int(stored) if stored else -1
        state = load_state(self.fixtures) if load_state is not None else None
        if state is None:
            for operator in operators:
                self._start(operator)
            return
        self._agenda.restore(state.agenda)
        for name, processor in state.processors.items():
            self._operators[name].resume(processor)

    @property
    def fixtures(self) -> dict[str, Any]:
        """Objects by name that processors may refer to, but that are not part of their state, such as stores.

        Pickled processors contain only their names. Classes are among them, so that a restored processor runs the
        current code.
        """
        contexts = {f"context {name}": operator.processor_context for name, operator in self._operators.items()}
        kinds = {f"class {name}": operator.kind for name, operator in self._operators.items()}
        stores = {f"store {name}": store for name, store in self._context.stores.items()}
        read_only = {f"read-only store {name}": store for name, store in self._context.read_only_stores.items()}
        return {"agenda": self._agenda, **contexts, **kinds, **stores, **read_only}

    @property
    def state(self) -> ProcessorState:
        return ProcessorState(
            {name: operator.processor for name, operator in self._operators.items()}, self._agenda.memory
        )

    def advance(self, timestamp_ms: int) -> None:
        """Advances stream time to the timestamp of a record that is about to be processed."""
        self._context.stream_time_ms = max(self._context.stream_time_ms, timestamp_ms)

    def punctuate(self, kind: PunctuationType) -> None:
        """Runs the punctuations that are due by a clock."""
        context = self._context
        clock_ms = context.stream_time_ms if kind is PunctuationType.STREAM_TIME else context.system_time_ms
        self._agenda.fire(kind, clock_ms, lambda schedule: self._run(schedule, clock_ms))

    def next_wall_clock_ms(self) -> int | None:
        """When the next wall-clock punctuation is due; `None` for never."""
        return self._agenda.next_due_ms(PunctuationType.WALL_CLOCK_TIME)

    def save(self) -> None:
        """Stores the task's stream time, if it has advanced."""
        if self._context.stream_time_ms != self._saved_ms:
            self._saved_ms = self._context.stream_time_ms
            self._store.put(_STREAM_TIME, str(self._saved_ms).encode())

    def close(self) -> None:
        for operator in self._operators.values():
            operator.processor.close()

    def _start(self, operator: UserProcessor) -> None:
        try:
            operator.start()
        except StreamsError:
            raise
        except USER_ERRORS as error:
            raise init_error(error, self._context.task_id, operator.name) from error

    def _run(self, schedule: Schedule, clock_ms: int) -> None:
        context = self._context
        context.fired_ms = clock_ms
        try:
            self._operators[schedule.node].punctuate(schedule.callback, clock_ms)
        except USER_ERRORS as error:
            context.errors.punctuation_failed(schedule.node, f"{schedule.grid.kind.value} {clock_ms}", error)
        finally:
            context.fired_ms = None
