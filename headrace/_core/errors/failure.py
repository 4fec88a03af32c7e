"""Errors that name what a user needs to act on them: the operator, the input record, the line of user code."""

from __future__ import annotations

import linecache
import site
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from headrace._core.operator import Operator
from headrace.errors import ProcessingError, StreamsError, text_of
from headrace.model.processor import RecordMetadata
from headrace.serdes.base import shortened

_TRACE = 20_000  # characters of each end of a long traceback
_PACKAGE = Path(__file__).resolve().parents[2]
# Not `cli`: its demos have functions that stand for a user's.
_OWN = tuple(str(_PACKAGE / folder) for folder in ("_core", "_runtime", "_state", "_suggestions", "model", "serdes"))
_LIBRARIES = (*_OWN, sysconfig.get_paths()["stdlib"], *site.getsitepackages())


def processing_error(
    error: BaseException,
    task_id: str,
    metadata: RecordMetadata,
    *,
    key: Any = None,
    timestamp_ms: int | None = None,
    operator: str | None = None,
) -> ProcessingError:
    """The error to raise `from` another one, which occurred while a record was processed."""
    if operator is None:
        operator = _innermost_operator(error.__traceback__)
    position = f"{metadata.topic}-{metadata.partition}@{metadata.offset}" if metadata.topic else "of a punctuation"
    at = "" if timestamp_ms is None else f", timestamp {timestamp_ms}"
    return _error(f"{operator} failed on record {position} (key {shortened(key)}{at}), task {task_id}", error)


def punctuation_error(error: BaseException, task_id: str, node: str, clock: str) -> ProcessingError:
    """The error for a punctuation whose callback failed, or an operator downstream of it."""
    innermost = _innermost_operator(error.__traceback__, node)
    where = "" if innermost == node else f", in {innermost}"
    return _error(f"{node} failed while punctuating at {clock}{where}, task {task_id}", error)


def idle_error(error: BaseException, task_id: str, node: str, clock_ms: int) -> ProcessingError:
    """The error for an operator that failed on a result forwarded because its key is idle."""
    innermost = _innermost_operator(error.__traceback__, node)
    return _error(
        f"{innermost} failed on a result of an idle key that {node} forwarded at {clock_ms}, task {task_id}", error
    )


def init_error(error: BaseException, task_id: str, node: str) -> ProcessingError:
    """The error for a processor that cannot be created or initialised."""
    return _error(f"{node} failed while creating and initialising its processor, task {task_id}", error)


def handler_error(error: BaseException, setting: str, handled: ProcessingError) -> ProcessingError:
    """The error for an error handler that raised instead of answering."""
    return ProcessingError(f"{_error(f'{setting} failed', error)}\nIt was handling: {handled}")


def trace_of(error: BaseException) -> str:
    """The traceback of an error and its causes; of a very long one the beginning and the end, where the error is."""
    trace = "".join(traceback.format_exception(error))
    return trace if len(trace) <= 2 * _TRACE else f"{trace[:_TRACE]}\n…\n{trace[-_TRACE:]}"


def _error(what: str, error: BaseException) -> ProcessingError:
    problem = text_of(error) if isinstance(error, StreamsError) else f"{type(error).__name__}: {text_of(error)}"
    line = _users_line(error.__traceback__)
    message = f"{what}: {problem}"
    return ProcessingError(f"{message}\n  at {line}" if line else message)


def _innermost_operator(trace: TracebackType | None, name: str = "A task") -> str:
    for frame, _ in traceback.walk_tb(trace):
        owner = frame.f_locals.get("self")
        if isinstance(owner, Operator):
            name = owner.name
    return name


def _users_line(trace: TracebackType | None) -> str | None:
    line = None
    for frame, number in traceback.walk_tb(trace):
        path = frame.f_code.co_filename
        if not path.startswith(_LIBRARIES) and not path.startswith("<frozen"):
            source = linecache.getline(path, number).strip()
            line = f"{path}:{number} in {frame.f_code.co_name}" + (f": {source}" if source else "")
    return line
