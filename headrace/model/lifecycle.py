"""The states of a running application, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Literal, TypeAlias, get_args

from headrace.errors import StreamsError


class State(Enum):
    """The state of an application, as `Streams.state` returns it.

    Kafka Streams' states, with two differences: Spark places tasks, so there is no `REBALANCING`, and a paused
    application has a state of its own.
    """

    CREATED = "created"
    """It was not started yet."""
    STARTING = "starting"
    """It checks its state and topics and starts its Spark query."""
    RUNNING = "running"
    """It processes records as they arrive, or all available ones."""
    PAUSED = "paused"
    """It runs, but begins no micro-batch until `Streams.resume`."""
    PENDING_SHUTDOWN = "pending shutdown"
    """It is stopping; the current micro-batch may still finish."""
    NOT_RUNNING = "not running"
    """It has stopped. It may be started again."""
    ERROR = "error"
    """It has failed. Nothing of the failed micro-batch is committed; when started again, it repeats that batch."""


StateListener: TypeAlias = Callable[[State, State], object]
"""Receives the new and the old state. It is called in the thread that changed the state and should return quickly."""

UncaughtExceptionResponse: TypeAlias = Literal["replace", "shutdown_client", "shutdown_application"]
"""Starts again after the last commit; or stops the application, which is the same for a client and an application."""

UNCAUGHT_EXCEPTION_RESPONSES: tuple[UncaughtExceptionResponse, ...] = get_args(UncaughtExceptionResponse)

UncaughtExceptionHandler: TypeAlias = Callable[[StreamsError], UncaughtExceptionResponse]
"""Decides what happens after an error that stopped the application."""
