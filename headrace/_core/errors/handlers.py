"""The error handlers of an application: asked about an error, they answer or let it stand."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from headrace._core.errors.failure import handler_error
from headrace.errors import ProcessingError, RegistryError
from headrace.model.error_handlers import ANSWERS, ErrorHandler, ErrorHandlerContext

_log = logging.getLogger(__name__)


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

    def answer(self, failed: ErrorHandlerContext, told: ProcessingError) -> str:
        """Whether to "continue" or to write a "dead_letter".

        Raises:
            Stop: if it is neither.
        """
        # A registry that is down says nothing about the record: it must not be lost for that.
        answer = "fail" if isinstance(failed.exception, RegistryError) else self._asked(failed, told)
        if answer == "fail":
            raise Stop(told) from failed.exception
        return answer

    def tell_drop(self, failed: ErrorHandlerContext, told: str, *, dead_letter: bool) -> None:
        """Logs what was dropped."""
        to_topic = f", written to {self.dead_letter_topic!r}" if dead_letter else ""
        _log.warning("Dropped (%s)%s: %s", failed.reason, to_topic, told.replace("\n  ", ", "))

    def _asked(self, failed: ErrorHandlerContext, told: ProcessingError) -> str:
        handler = getattr(self, failed.kind)
        if isinstance(handler, str):
            return handler
        setting = f"{failed.kind}_exception_handler"
        try:
            answer = handler(failed)
        except Exception as error:
            raise Stop(handler_error(error, setting, told)) from error
        if answer not in ANSWERS:
            message = (
                f"{setting} answered {answer!r}; allowed: {', '.join(map(repr, ANSWERS))}. It was asked about: {told}"
            )
            raise Stop(ProcessingError(message)) from failed.exception
        if answer == "dead_letter" and self.dead_letter_topic is None:
            message = f"{setting} answered 'dead_letter', but dead_letter_topic is not set. It was asked about: {told}"
            raise Stop(ProcessingError(message)) from failed.exception
        return str(answer)
