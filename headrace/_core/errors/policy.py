"""What becomes of errors: a handler decides, drops are counted and told, dead letters written.

An error is handled at the operator that failed. Whoever forwarded the record goes on as if it had been processed, and
what the operator had done before it failed stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace._core.errors.dead_letters import letter_headers
from headrace._core.errors.failure import processing_error, punctuation_error
from headrace._core.errors.handlers import ErrorHandlers
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.topics.sink import Sink
from headrace._core.operators.topics.source import Source
from headrace._core.task.context import SourceRecord, TaskContext
from headrace.errors import ProcessingError
from headrace.model.error_handlers import ErrorHandlerContext


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
        self._decide(self._described("deserialization", operator, reason, error), told)

    def punctuation(self, node: str, clock: str, error: Exception) -> None:
        """For a callback that raised."""
        told = punctuation_error(error, self._context.task_id, node, clock)
        self._decide(self._described("processing", node, "punctuation error", error), told)

    def refused(self, operator: str, reason: str, error: ProcessingError, *, dead_letter: bool) -> None:
        """For the current record, which a source does not take though it could."""
        described = self._described("deserialization", operator, reason, error)
        self._drop(described, f"{operator} refuses record {_place(described)}: {error}", dead_letter=dead_letter)

    def _unprocessed(self, operator: Operator, record: AnyRecord, error: Exception) -> None:
        told = self._told(operator.name, self._context.source_record, record.key, error)
        self._decide(self._described("processing", operator.name, "processing error", error), told)

    def _unproduced(self, operator: Operator, record: AnyRecord, error: Exception) -> None:
        assert isinstance(operator, Sink)
        told = self._told(operator.name, self._context.source_record, record.key, error)
        described = self._described("production", operator.name, f"unserializable {operator.failing(record)}", error)
        self._decide(described, told)

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

    def _decide(self, failed: ErrorHandlerContext, told: ProcessingError) -> None:
        answer = self._handlers.answer(failed, told)
        self._drop(failed, str(told), dead_letter=answer == "dead_letter")

    def _drop(self, failed: ErrorHandlerContext, told: str, *, dead_letter: bool) -> None:
        if self.muted:
            return
        self._context.drop(failed.operator, failed.reason)
        self._handlers.tell_drop(failed, told, dead_letter=dead_letter)
        if dead_letter:
            self._write(failed)

    def _write(self, failed: ErrorHandlerContext) -> None:
        topic = self._handlers.dead_letter_topic
        assert topic is not None
        context = self._context
        context.metrics.add(failed.operator, "dead_letters")
        # No topic takes a negative timestamp; a header has the original.
        timestamp_ms = max(0, context.source_record.recorded_ms)
        context.collector.send(topic, failed.key, failed.value, timestamp_ms, letter_headers(failed))


def _place(failed: ErrorHandlerContext) -> str:
    return f"{failed.topic}-{failed.partition}@{failed.offset}"
