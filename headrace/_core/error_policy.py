"""What becomes of errors: a handler decides, drops are counted and told, dead letters written.

An error is handled at the operator that failed. Whoever forwarded the record goes on as if it had been processed, and
what the operator had done before it failed stays.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from headrace._core.context import SourceRecord, TaskContext
from headrace._core.failure import handler_error, processing_error, punctuation_error
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.sink import Sink
from headrace._core.operators.source import Source
from headrace.error_handlers import ANSWERS, ErrorHandler, ErrorHandlerContext
from headrace.errors import ProcessingError, RegistryError

_log = logging.getLogger(__name__)


class ErrorHandlers(NamedTuple):
    """What the configuration says about errors."""

    deserialization: ErrorHandler = "fail"
    processing: ErrorHandler = "fail"
    production: ErrorHandler = "fail"
    dead_letter_topic: str | None = None

    @property
    def all_fail(self) -> bool:
        """Whether no record is ever dropped for an error."""
        return self.deserialization == "fail" and not self.skip_results

    @property
    def skip_results(self) -> bool:
        """Whether a record may be dropped for what operators make of it."""
        return self.processing != "fail" or self.production != "fail"


class Stop(BaseException):
    """An error that a handler let stand: no other handler, nor a user's `except Exception`, gets hold of it."""

    def __init__(self, told: ProcessingError) -> None:
        super().__init__(told)
        self.told = told


@contextmanager
def stopping() -> Iterator[None]:
    """Around what may be stopped: raises the error that was let stand."""
    try:
        yield
    except Stop as stop:
        raise stop.told from stop.__cause__


class ErrorPolicy:
    """The handlers of one task. While it is `muted`, another task tells of the same errors."""

    def __init__(self, context: TaskContext, handlers: ErrorHandlers) -> None:
        self._context = context
        self._handlers = handlers
        self.muted = False

    def guard(self, operators: Iterable[Operator]) -> None:
        """Has errors of operators handled where they occur, if there is more to do than to fail.

        Those of a sink are its own in any case: the operator before it has not failed.
        """
        if not self._handlers.skip_results:
            return
        for operator in operators:
            if isinstance(operator, Sink):
                operator.handle_errors(self._unproduced)
            elif self._handlers.processing != "fail" and not isinstance(operator, Source):
                operator.handle_errors(self._unprocessed)

    def undecodable(self, operator: str, reason: str, error: Exception) -> None:
        """For the current record, which cannot be taken from its topic."""
        source = self._context.source_record
        told = self._told(operator, source, source.key, error)
        if self._handlers.deserialization == "fail":
            hint = "deserialization_exception_handler='continue' or 'dead_letter' takes such records out."
            told = ProcessingError(f"{told}\n{hint}")
        self._decide("deserialization", self._described("deserialization", operator, reason, error), told)

    def punctuation(self, node: str, clock: str, error: Exception) -> None:
        """For a callback that raised."""
        told = punctuation_error(error, self._context.task_id, node, clock)
        self._decide("processing", self._described("processing", node, "punctuation error", error), told)

    def refused(self, operator: str, reason: str, error: ProcessingError, *, dead_letter: bool) -> None:
        """For the current record, which a source does not take though it could."""
        described = self._described("deserialization", operator, reason, error)
        self._drop(described, f"{operator} refuses record {_place(described)}: {error}", dead_letter=dead_letter)

    def _unprocessed(self, operator: Operator, record: AnyRecord, error: Exception) -> None:
        told = self._told(operator.name, self._context.source_record, record.key, error)
        self._decide("processing", self._described("processing", operator.name, "processing error", error), told)

    def _unproduced(self, operator: Operator, record: AnyRecord, error: Exception) -> None:
        assert isinstance(operator, Sink)
        told = self._told(operator.name, self._context.source_record, record.key, error)
        described = self._described("production", operator.name, f"unserializable {operator.failing(record)}", error)
        self._decide("production", described, told)

    def _told(self, operator: str, source: SourceRecord, key: object, error: Exception) -> ProcessingError:
        return processing_error(
            error,
            self._context.task_id,
            source.metadata,
            key=key,
            timestamp_ms=source.timestamp_ms,
            operator=operator,
        )

    def _described(self, kind: str, operator: str, reason: str, error: Exception) -> ErrorHandlerContext:
        source = self._context.source_record
        return ErrorHandlerContext(
            kind,
            reason,
            operator,
            self._context.task_id,
            *source.metadata,
            source.timestamp_ms,
            source.key,
            source.value,
            source.headers,
            error,
        )

    def _decide(self, kind: str, failed: ErrorHandlerContext, told: ProcessingError) -> None:
        # A registry that is down says nothing about the record: it must not be lost for that.
        answer = "fail" if isinstance(failed.exception, RegistryError) else self._answer(kind, failed, told)
        if answer == "fail":
            raise Stop(told) from failed.exception
        self._drop(failed, str(told), dead_letter=answer == "dead_letter")

    def _answer(self, kind: str, failed: ErrorHandlerContext, told: ProcessingError) -> str:
        handler = getattr(self._handlers, kind)
        if isinstance(handler, str):
            return handler
        setting = f"{kind}_exception_handler"
        try:
            answer = handler(failed)
        except Exception as error:
            raise Stop(handler_error(error, setting, told)) from error
        if answer not in ANSWERS:
            message = (
                f"{setting} answered {answer!r}; allowed: {', '.join(map(repr, ANSWERS))}. It was asked about: {told}"
            )
            raise Stop(ProcessingError(message)) from failed.exception
        if answer == "dead_letter" and self._handlers.dead_letter_topic is None:
            message = f"{setting} answered 'dead_letter', but dead_letter_topic is not set. It was asked about: {told}"
            raise Stop(ProcessingError(message)) from failed.exception
        return str(answer)

    def _drop(self, failed: ErrorHandlerContext, told: str, *, dead_letter: bool) -> None:
        if self.muted:
            return
        self._context.drop(failed.operator, failed.reason)
        to_topic = f", written to {self._handlers.dead_letter_topic!r}" if dead_letter else ""
        _log.warning("Dropped (%s)%s: %s", failed.reason, to_topic, told.replace("\n  ", ", "))
        if dead_letter:
            self._write(failed)

    def _write(self, failed: ErrorHandlerContext) -> None:
        topic = self._handlers.dead_letter_topic
        assert topic is not None
        context = self._context
        context.metrics.add(failed.operator, "dead_letters")
        headers = (*failed.headers, *_headers(failed))
        # No topic takes a negative timestamp; a header has the original.
        timestamp_ms = max(0, context.source_record.recorded_ms)
        context.collector.send(topic, failed.key, failed.value, timestamp_ms, headers)


def _headers(failed: ErrorHandlerContext) -> Iterator[tuple[str, bytes]]:
    """What a dead letter says about the error; about the place of its record only if there is one."""
    place = {"topic": failed.topic, "partition": failed.partition, "offset": failed.offset}
    kind = type(failed.exception)
    said = {
        "reason": failed.reason,
        "operator": failed.operator,
        **(place if failed.topic is not None else {}),
        "timestamp": failed.timestamp_ms,
        "exception": kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}",
        "message": failed.exception,
        "stacktrace": "".join(traceback.format_exception(failed.exception)),
    }
    return ((f"headrace.error.{name}", str(what).encode(errors="replace")) for name, what in said.items())


def _place(failed: ErrorHandlerContext) -> str:
    return f"{failed.topic}-{failed.partition}@{failed.offset}"
