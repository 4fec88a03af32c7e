"""Errors that name what a user needs to act on them: the operator, the input record, the line of user code."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

from headrace._core.operator import Operator
from headrace._suggestions.calls import call_suggestion
from headrace._user_code import user_line
from headrace.errors import ProcessingError, RegistryError, StateError, StreamsError, text_of
from headrace.model.error_handlers import ErrorKind
from headrace.model.processor import RecordMetadata
from headrace.serdes.base import shortened

_TRACE = 20_000  # characters of each end of a long traceback


def processing_error(
    error: BaseException,
    task_id: str,
    metadata: RecordMetadata,
    *,
    key: Any = None,
    timestamp_ms: int | None = None,
    operator: str,
) -> ProcessingError:
    """Returns the error to raise from `error`, which occurred while a record was processed."""
    position = f"{metadata.topic}-{metadata.partition}@{metadata.offset}" if metadata.topic else "of a punctuation"
    at = "" if timestamp_ms is None else f", timestamp {timestamp_ms}"
    return _error(f"{operator} failed on record {position} (key {shortened(key)}{at}), task {task_id}", error)


def uncaught_error(
    error: BaseException, task_id: str, metadata: RecordMetadata, *, key: Any, timestamp_ms: int
) -> ProcessingError:
    """Returns the error for an operator that failed without an error handler. It names the setting for a handler."""
    operator = _innermost_operator(error.__traceback__)
    name = "A task" if operator is None else operator.name
    report = processing_error(error, task_id, metadata, key=key, timestamp_ms=timestamp_ms, operator=name)
    return report if operator is None else with_hint(report, operator.error_kind, error)


def with_hint(report: ProcessingError, kind: ErrorKind, error: BaseException) -> ProcessingError:
    """Returns `report` with a hint at the setting that would drop the record instead of stopping the application.

    There is no hint if state or a schema registry failed, because then the record itself may be valid.
    """
    if isinstance(error, StateError | RegistryError):
        return report
    return ProcessingError(f"{report}\n{kind}_exception_handler='continue' or 'dead_letter' drops such records.")


def punctuation_error(error: BaseException, task_id: str, node: str, clock: str) -> ProcessingError:
    """Returns the error for a punctuation of `node` that failed in its callback or in an operator downstream.

    `clock` says by which clock and when, e.g. "stream time 5".
    """
    innermost = _innermost_operator(error.__traceback__)
    where = "" if innermost is None or innermost.name == node else f", in {innermost.name}"
    return _error(f"{node} failed while punctuating at {clock}{where}, task {task_id}", error)


def idle_error(error: BaseException, task_id: str, node: str, clock_ms: int) -> ProcessingError:
    """Returns the error for an operator that failed on a result that `node` forwarded because its key is idle."""
    innermost = _innermost_operator(error.__traceback__)
    name = node if innermost is None else innermost.name
    report = _error(
        f"{name} failed on a result of an idle key that {node} forwarded at {clock_ms}, task {task_id}", error
    )
    return report if innermost is None or name == node else with_hint(report, innermost.error_kind, error)


def init_error(error: BaseException, task_id: str, node: str) -> ProcessingError:
    """Returns the error for a processor that cannot be created or initialised."""
    return _error(f"{node} failed while creating and initialising its processor, task {task_id}", error)


def handler_error(error: BaseException, setting: str, handled: ProcessingError) -> ProcessingError:
    """Returns the error to raise if an error handler of the user has itself failed.

    `error` is what the handler raised. `setting` is the name of the setting with the handler. `handled` is the error
    that the handler was called for; the message contains it.
    """
    return ProcessingError(f"{_error(f'{setting} failed', error)}\nIt was handling: {handled}")


def trace_of(error: BaseException) -> str:
    """The traceback of an error and its causes. A very long one loses its middle: the error itself is at the end."""
    trace = "".join(traceback.format_exception(error))
    return trace if len(trace) <= 2 * _TRACE else f"{trace[:_TRACE]}\n…\n{trace[-_TRACE:]}"


def _error(what: str, error: BaseException) -> ProcessingError:
    problem = text_of(error) if isinstance(error, StreamsError) else f"{type(error).__name__}: {text_of(error)}"
    line = user_line(error.__traceback__)
    message = f"{what}: {problem}{call_suggestion(error)}"
    return ProcessingError(f"{message}\n  at {line}" if line else message)


def _innermost_operator(trace: TracebackType | None) -> Operator | None:
    owners = (frame.f_locals.get("self") for frame, _ in traceback.walk_tb(trace))
    return next((owner for owner in reversed([*owners]) if isinstance(owner, Operator)), None)
