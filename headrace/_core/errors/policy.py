"""What happens after an error: a handler decides; dropped records are counted and logged, dead letters written.

An error is handled at the operator that failed. The operator that forwarded the record goes on as if it had been
processed, and everything the failing operator did before it failed remains.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace._core.drop_reasons import DropReason
from headrace._core.errors.dead_letters import letter_headers
from headrace._core.errors.failure import processing_error, punctuation_error
from headrace._core.errors.handlers import DropLog, ErrorHandlers, HandlerAnswer
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.topics.sink import TopicWriter
from headrace._core.operators.topics.source import Source
from headrace._core.task.context import SourceRecord, TaskContext
from headrace.errors import ProcessingError
from headrace.model.error_handlers import ErrorHandlerContext, ErrorKind
from headrace.model.record import Headers


class ErrorPolicy:
    """Applies the error handlers in one task.

    While it is `muted`, dropped records are not counted, logged or written as dead letters: another task does that.
    """

    def __init__(self, context: TaskContext, handlers: ErrorHandlers) -> None:
        self._context = context
        self._handlers = handlers
        self._log = DropLog()
        self.muted = False

    def guard(self, operators: Iterable[Operator]) -> None:
        """Installs the handlers in the operators that need one.

        Sinks get a handler even if production errors stop the application. Otherwise, the handler of the operator
        before the sink would get the sink's error as its own.
        """
        if not self._handlers.skip_results:
            return
        for operator in operators:
            if isinstance(operator, TopicWriter):
                operator.handle_errors(self._production_failed)
            elif self._handlers.processing != "fail" and not isinstance(operator, Source):
                operator.handle_errors(self._processing_failed)

    def end_batch(self) -> None:
        """Logs how many more records the batch has dropped than were logged."""
        self._log.end_batch()

    def undecodable(self, operator: str, reason: DropReason, error: BaseException) -> None:
        """Handles the current record, which cannot be decoded or has a negative timestamp."""
        source = self._context.source_record
        report = self._report(operator, source, source.key, error)
        part = reason.removeprefix("undecodable ")
        failed_part = part if part in ("key", "value") else None
        self._decide(self._describe("deserialization", operator, reason, error, failed_part=failed_part), report)

    def punctuation_failed(self, node: str, clock: str, error: BaseException) -> None:
        """Handles a punctuation whose callback raised."""
        report = punctuation_error(error, self._context.task_id, node, clock)
        self._decide(self._describe("processing", node, DropReason.PUNCTUATION_ERROR, error), report)

    def drop_refused(self, operator: str, reason: DropReason, error: ProcessingError, *, dead_letter: bool) -> None:
        """Drops the current record, which can be decoded, but which a source rejects because of its timestamp."""
        failed = self._describe("deserialization", operator, reason, error)
        self._drop(failed, f"{operator} refuses record {_position(failed)}: {error}", HandlerAnswer(dead_letter))

    def _processing_failed(self, operator: Operator, record: AnyRecord, error: BaseException) -> None:
        report = self._report(operator.name, self._context.source_record, record.key, error)
        self._decide(
            self._describe("processing", operator.name, DropReason.PROCESSING_ERROR, error, record=record), report
        )

    def _production_failed(self, operator: Operator, record: AnyRecord, error: BaseException) -> None:
        assert isinstance(operator, TopicWriter)
        report = self._report(operator.name, self._context.source_record, record.key, error)
        part = operator.unserializable_part(record)
        failed = self._describe(
            "production",
            operator.name,
            operator.failure_reason(record, error),
            error,
            record=record,
            output_topic=operator.topic_of(record),
            failed_part=part,
        )
        self._decide(failed, report)

    def _report(self, operator: str, source: SourceRecord, key: object, error: BaseException) -> ProcessingError:
        return processing_error(
            error,
            self._context.task_id,
            source.metadata,
            key=key,
            timestamp_ms=source.timestamp_ms,
            operator=operator,
        )

    def _describe(
        self, kind: ErrorKind, operator: str, reason: DropReason, error: BaseException, **more: Any
    ) -> ErrorHandlerContext:
        source = self._context.source_record
        return ErrorHandlerContext(
            kind,
            reason.value,
            operator,
            self._context.task_id,
            *source.metadata,
            source.timestamp_ms,
            source.key,
            source.value,
            source.headers,
            error,
            **more,
        )

    def _decide(self, failed: ErrorHandlerContext, report: ProcessingError) -> None:
        self._drop(failed, str(report), self._handlers.answer(failed, report))

    def _drop(self, failed: ErrorHandlerContext, message: str, answer: HandlerAnswer) -> None:
        if self.muted:
            return
        self._context.drop(failed.operator, DropReason(failed.reason))
        self._log.add(failed, message, self._handlers.dead_letter_topic if answer.dead_letter else None)
        if answer.letters is not None:
            for letter in answer.letters:
                self._write_dead_letter(failed, letter.key, letter.value, letter.timestamp_ms, letter.headers)
        elif answer.dead_letter:
            self._write_dead_letter(failed, failed.key, failed.value, None, letter_headers(failed))

    def _write_dead_letter(
        self,
        failed: ErrorHandlerContext,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None,
        headers: Headers,
    ) -> None:
        topic = self._handlers.dead_letter_topic
        assert topic is not None
        context = self._context
        context.metrics.add(failed.operator, "dead_letters")
        if timestamp_ms is None:
            # Topics refuse negative timestamps; a header has the original one.
            timestamp_ms = max(0, context.source_record.recorded_ms)
        context.collector.send(topic, key, value, timestamp_ms, headers)


def _position(failed: ErrorHandlerContext) -> str:
    return f"{failed.topic}-{failed.partition}@{failed.offset}"
