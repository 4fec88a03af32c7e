"""The state of a task's processors from batch to batch.

In Kafka Streams a processor lives as long as its task. On Spark a batch may run in any Python worker, so what a task
has in memory is pickled into its state at the end of a batch and taken up in the next one of the same run. A new run
begins with new processors: fields are gone, as after any restart.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any

from headrace._core.operators.processors.lifecycle import Processors, ProcessorState
from headrace._runtime.spark.workers.pickling import Pickler
from headrace._state.bytes.api import ByteStore
from headrace.errors import StateError

_STATE = b"processors"


class SavedProcessorState:
    """Saves the state of a task's processors, for one run of the application."""

    def __init__(self, kept: ByteStore, run: str) -> None:
        self._kept = kept
        self._run = run.encode() + b"\x00"
        self._stored = kept.get(_STATE)

    def load(self, fixtures: Mapping[str, Any]) -> ProcessorState | None:
        """The state saved in this run, if there is one, attached to the fixtures of the new task object."""
        if self._stored is None or not self._stored.startswith(self._run):
            return None
        state: ProcessorState = _Unpickler(io.BytesIO(self._stored[len(self._run) :]), fixtures).load()
        return state

    def save(self, processors: Processors) -> None:
        """Saves the processors' state if it changed.

        Raises:
            StateError: if a field cannot be pickled.
        """
        state, fixtures = processors.state, processors.fixtures
        try:
            frozen = self._run + _dumps(state, fixtures)
        except Exception as error:
            raise StateError(_complaint(state, fixtures, error)) from error
        if frozen != self._stored:
            self._kept.put(_STATE, frozen)
            self._stored = frozen


class _Pickler(Pickler):
    """Writes the name of a fixture instead of the fixture."""

    def __init__(self, file: io.BytesIO, fixtures: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._names = {id(fixture): name for name, fixture in fixtures.items()}

    def persistent_id(self, thing: object) -> str | None:
        return self._names.get(id(thing))


class _Unpickler(pickle.Unpickler):
    """Puts the fixture where its name stands."""

    def __init__(self, file: io.BytesIO, fixtures: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._fixtures = fixtures

    def persistent_load(self, name: str) -> Any:
        return self._fixtures[name]


def _dumps(thing: object, fixtures: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, fixtures).dump(thing)
    return file.getvalue()


def _complaint(saved: ProcessorState, fixtures: Mapping[str, Any], error: Exception) -> str:
    advice = (
        "On Spark the fields of a processor, and what its callbacks refer to, travel from batch to batch: leave out "
        "what cannot (a connection, a lock, an open file) with __getstate__, and make it when it is needed."
    )
    for node, processor in saved.processors.items():
        state = processor.__getstate__()
        for name, value in state.items() if isinstance(state, dict) else ():
            try:
                _dumps(value, fixtures)
            except Exception as cause:
                what = f"the field {name!r} of type {type(value).__name__}"
                return f"Processor {node!r} has {what}, which cannot be pickled: {cause}. {advice}"
    nodes = ", ".join(map(repr, saved.processors))
    return f"The fields and schedules of {nodes} cannot be pickled: {error}. {advice}"
