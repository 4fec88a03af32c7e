"""Saves the processors of a task between batches.

In Kafka Streams a processor exists as long as its task. On Spark any Python worker may run a batch, so the processors
and schedules of a task are pickled into its durable state at the end of a batch, and the next batch of the same run
loads them. A new run creates new processors: their fields are lost, as after any restart.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any

from headrace._core.operators.processors.lifecycle import Processors, ProcessorState
from headrace._runtime.spark.workers.pickling import Pickler
from headrace._state.changes.task_state import TaskState
from headrace.errors import StateError


class SavedProcessorState:
    """Loads and saves the processors of a task, in one run of the application."""

    def __init__(self, state: TaskState, run: str) -> None:
        self._state = state
        self._run = run.encode() + b"\x00"

    def load(self, fixtures: Mapping[str, Any]) -> ProcessorState | None:
        """Loads the processors that this run has saved; `None` if there are none.

        `fixtures` are the contexts and stores of the new task, which the processors then use.
        """
        saved = self._state.processors
        if saved is None or not saved.startswith(self._run):
            return None
        state: ProcessorState = _Unpickler(io.BytesIO(saved[len(self._run) :]), fixtures).load()
        return state

    def save(self, processors: Processors) -> None:
        """Makes the processors' state part of the next commit.

        Raises:
            StateError: if a field cannot be pickled.
        """
        state, fixtures = processors.state, processors.fixtures
        try:
            self._state.processors = self._run + _dumps(state, fixtures)
        except Exception as error:
            raise StateError(_explain_unpicklable(state, fixtures, error)) from error


class _Pickler(Pickler):
    """Pickles the objects in `fixtures` by name: contexts, stores and other parts of the task, which are not saved."""

    def __init__(self, file: io.BytesIO, fixtures: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._names = {id(fixture): name for name, fixture in fixtures.items()}

    def persistent_id(self, thing: object) -> str | None:
        return self._names.get(id(thing))


class _Unpickler(pickle.Unpickler):
    """Loads processors. A name that `_Pickler` wrote becomes the object with that name in `fixtures`."""

    def __init__(self, file: io.BytesIO, fixtures: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._fixtures = fixtures

    def persistent_load(self, name: str) -> Any:
        return self._fixtures[name]


def _dumps(thing: object, fixtures: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, fixtures).dump(thing)
    return file.getvalue()


def _explain_unpicklable(saved: ProcessorState, fixtures: Mapping[str, Any], error: Exception) -> str:
    advice = (
        "On Spark the fields of a processor, and the objects its callbacks refer to, are pickled after every batch. "
        "Leave out what cannot be pickled (a connection, a lock, an open file) with __getstate__, and create it again "
        "when it is needed."
    )
    for node, processor in saved.processors.items():
        state = processor.__getstate__()
        for name, value in state.items() if isinstance(state, dict) else ():
            try:
                _dumps(value, fixtures)
            except Exception as cause:
                field = f"the field {name!r} of type {type(value).__name__}"
                return f"Processor {node!r} has {field}, which cannot be pickled: {cause}. {advice}"
    nodes = ", ".join(map(repr, saved.processors))
    return f"The fields and schedules of {nodes} cannot be pickled: {error}. {advice}"
