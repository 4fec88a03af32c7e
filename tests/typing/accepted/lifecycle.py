"""The life of an application."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

import headrace as hr
from headrace import State, Streams


def listen(new: State, old: State) -> None:
    assert_type(new is old, bool)


def decide(error: hr.StreamsError) -> hr.UncaughtExceptionResponse:
    return "replace" if isinstance(error, hr.TopicError) else "shutdown_application"


def run(app: Streams) -> None:
    app.set_state_listener(listen)
    app.set_uncaught_exception_handler(decide)
    app.pause()
    app.start()
    assert_type(app.is_paused, bool)
    assert_type(app.state, State)
    app.resume()
    app.stop(timeout=timedelta(minutes=1))
    app.stop(timeout=None)
