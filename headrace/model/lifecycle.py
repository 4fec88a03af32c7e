"""The states of a running application, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Literal, TypeAlias, get_args

from headrace.errors import StreamsError


class State(Enum):
    """The state of an application, as `Streams.state` returns it.

    The states are those of Kafka Streams with two differences: there is no `REBALANCING`, because Spark assigns the
    tasks, and there is a state `PAUSED`.
    """

    CREATED = "created"
    """The application has not been started yet."""
    STARTING = "starting"
    """It is checking its stored state and its topics, and starting its Spark query."""
    RUNNING = "running"
    """It is processing records: as they arrive, or those that `process_available()` found."""
    PAUSED = "paused"
    """It is running, but begins no micro-batch until `Streams.resume` is called."""
    PENDING_SHUTDOWN = "pending shutdown"
    """It is stopping; the current micro-batch may still finish."""
    NOT_RUNNING = "not running"
    """It has stopped. It may be started again."""
    ERROR = "error"
    """It has failed. Nothing of the failed micro-batch is committed; the next start repeats it."""


StateListener: TypeAlias = Callable[[State, State], object]
"""`(new_state, old_state)`: called at every change of the state, in the thread that changed it. It should be quick."""

UncaughtExceptionResponse: TypeAlias = Literal["replace", "shutdown_client", "shutdown_application"]
"""What to do when an application has failed.

"replace" starts it again after the last commit. "shutdown_client" and "shutdown_application" both stop it.
"""

UNCAUGHT_EXCEPTION_RESPONSES: tuple[UncaughtExceptionResponse, ...] = get_args(UncaughtExceptionResponse)

UncaughtExceptionHandler: TypeAlias = Callable[[StreamsError], UncaughtExceptionResponse]
"""`(error) -> response`: decides what to do when an application has failed with an error."""
