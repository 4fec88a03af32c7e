"""The error handlers of an application: they decide about an error whether the application fails."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from headrace._core.errors.failure import handler_error
from headrace._core.errors.user_errors import USER_ERRORS
from headrace.errors import ProcessingError, RegistryError
from headrace.model.error_handlers import RESPONSES, ErrorHandler, ErrorHandlerContext

_log = logging.getLogger(__name__)


class Stop(BaseException):
    """Carries an error that stops the application past other handlers and the user's own `except Exception`."""

    def __init__(self, error: ProcessingError) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def stopping() -> Iterator[None]:
    """Raises the error that a `Stop` carries, which the enclosed code raised."""
    try:
        yield
    except Stop as stop:
        raise stop.error from stop.__cause__


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

    def answer(self, failed: ErrorHandlerContext, report: ProcessingError) -> str:
        """The handler's answer, "continue" or "dead_letter".

        Raises:
            Stop: if the answer is "fail", or no valid one. It carries `report`, which describes the error to users.
        """
        # An unavailable schema registry says nothing about the record, which must not be lost because of it.
        answer = "fail" if isinstance(failed.exception, RegistryError) else self._ask(failed, report)
        if answer == "fail":
            raise Stop(report) from failed.exception
        return answer

    def log_drop(self, failed: ErrorHandlerContext, message: str, *, dead_letter: bool) -> None:
        """Logs a dropped record and why."""
        to_topic = f", written to {self.dead_letter_topic!r}" if dead_letter else ""
        _log.warning("Dropped (%s)%s: %s", failed.reason, to_topic, message.replace("\n  ", ", "))

    def _ask(self, failed: ErrorHandlerContext, report: ProcessingError) -> str:
        handler = getattr(self, failed.kind)
        if isinstance(handler, str):
            return handler
        setting = f"{failed.kind}_exception_handler"
        try:
            answer = handler(failed)
        except USER_ERRORS as error:
            raise Stop(handler_error(error, setting, report)) from error
        if answer not in RESPONSES:
            message = (
                f"{setting} answered {answer!r}; allowed: {', '.join(map(repr, RESPONSES))}. It was handling: {report}"
            )
            raise Stop(ProcessingError(message)) from failed.exception
        if answer == "dead_letter" and self.dead_letter_topic is None:
            message = f"{setting} answered 'dead_letter', but dead_letter_topic is not set. It was handling: {report}"
            raise Stop(ProcessingError(message)) from failed.exception
        return str(answer)
