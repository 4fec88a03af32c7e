"""The error handlers of an application, which decide for each error whether it stops the application."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeGuard

from headrace._core.errors.failure import handler_error, with_hint
from headrace._core.errors.user_errors import USER_ERRORS
from headrace.errors import ProcessingError, RegistryError
from headrace.model.error_handlers import (
    RESPONSES,
    DeadLetters,
    ErrorHandler,
    ErrorHandlerContext,
    ErrorHandlerResponse,
)
from headrace.model.record import Record

_log = logging.getLogger(__name__)
_LOGGED = 5


class Stop(BaseException):
    """Stops the application with `error`. Neither error handlers nor the user's `except Exception` catch a `Stop`."""

    def __init__(self, error: ProcessingError) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def stopping() -> Iterator[None]:
    """If the enclosed code raises a `Stop`, raises the error that it carries instead."""
    try:
        yield
    except Stop as stop:
        raise stop.error from stop.__cause__


class HandlerAnswer(NamedTuple):
    """The response of a handler that drops the record: whether to write dead letters, and which.

    `letters` are the dead letters that the handler itself returned, else `None`. With `dead_letter` and no `letters`,
    the input record is the dead letter.
    """

    dead_letter: bool
    letters: DeadLetters | None = None


class DropLog:
    """Logs dropped records of one batch: the first few of each operator and reason, and how many more there were."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, failed: ErrorHandlerContext, message: str, dead_letter_topic: str | None) -> None:
        """Logs a dropped record and why, unless there were many like it."""
        self._counts[failed.operator, failed.reason] += 1
        if self._counts[failed.operator, failed.reason] <= _LOGGED:
            to_topic = "" if dead_letter_topic is None else f", written to {dead_letter_topic!r}"
            _log.warning("Dropped (%s)%s: %s", failed.reason, to_topic, message.replace("\n  ", ", "))

    def end_batch(self) -> None:
        """Logs how many more records were dropped than were logged, by operator and reason."""
        for (operator, reason), count in self._counts.items():
            if count > _LOGGED:
                _log.warning("Dropped (%s): %s more records at %s", reason, f"{count - _LOGGED:,}", operator)
        self._counts.clear()


class ErrorHandlers(NamedTuple):
    """The error handlers of the configuration."""

    deserialization: ErrorHandler = "fail"
    processing: ErrorHandler = "fail"
    production: ErrorHandler = "fail"
    dead_letter_topic: str | None = None

    @property
    def all_fail(self) -> bool:
        """Whether every error stops the application, so that no record is dropped because of one."""
        return self.deserialization == "fail" and not self.skip_results

    @property
    def skip_results(self) -> bool:
        """Whether a record may be dropped because of an error in an operator or a sink."""
        return self.processing != "fail" or self.production != "fail"

    def answer(self, failed: ErrorHandlerContext, report: ProcessingError) -> HandlerAnswer:
        """Asks the handler for this kind of error, and returns its response.

        Raises:
            Stop: if the response is "fail" or invalid, or the handler raises an error. Its message contains `report`,
                which describes the error to users.
        """
        if getattr(self, failed.kind) == "fail":
            raise Stop(with_hint(report, failed.kind, failed.exception)) from failed.exception
        # An unavailable schema registry says nothing about the record, which must not be lost because of it.
        answer = "fail" if isinstance(failed.exception, RegistryError) else self._ask(failed, report)
        if answer == "fail":
            raise Stop(report) from failed.exception
        return (
            HandlerAnswer(answer == "dead_letter") if isinstance(answer, str) else HandlerAnswer(bool(answer), answer)
        )

    def _ask(self, failed: ErrorHandlerContext, report: ProcessingError) -> str | DeadLetters:
        handler = getattr(self, failed.kind)
        if isinstance(handler, str):
            return handler
        setting = f"{failed.kind}_exception_handler"
        try:
            answer: Any = handler(failed)
        except USER_ERRORS as error:
            raise Stop(handler_error(error, setting, report)) from error
        if not _is_response(answer):
            message = (
                f"{setting} answered {answer!r}; allowed: {', '.join(map(repr, RESPONSES))}, or a list of records with "
                f"serialized keys and values to write to dead_letter_topic. It was handling: {report}"
            )
            raise Stop(ProcessingError(message)) from failed.exception
        if answer not in ("fail", "continue") and answer and self.dead_letter_topic is None:
            given = "'dead_letter'" if isinstance(answer, str) else "with dead letters"
            message = f"{setting} answered {given}, but dead_letter_topic is not set. It was handling: {report}"
            raise Stop(ProcessingError(message)) from failed.exception
        return answer


def _is_response(answer: Any) -> TypeGuard[ErrorHandlerResponse | DeadLetters]:
    if isinstance(answer, list | tuple):
        return all(
            isinstance(letter, Record) and all(isinstance(part, bytes | None) for part in (letter.key, letter.value))
            for letter in answer
        )
    return isinstance(answer, str) and answer in RESPONSES
