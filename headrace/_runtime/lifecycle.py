"""The state of an application, and a thread that restarts its query after errors and after changes of its topics."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta

from headrace.errors import NewPartitionsError, StreamsError
from headrace.model.lifecycle import (
    UNCAUGHT_EXCEPTION_RESPONSES,
    State,
    StateListener,
    UncaughtExceptionHandler,
)

_logger = logging.getLogger(__name__)
_LONGEST_PAUSE_S = 60.0
_JOIN_WITHIN_S = 30.0


class Lifecycle:
    """The state of an application, its listener, and its handler of uncaught exceptions."""

    def __init__(self) -> None:
        self.listener: StateListener | None = None
        self.uncaught_exception_handler: UncaughtExceptionHandler | None = None
        self._state = State.CREATED
        self._lock = threading.Lock()

    @property
    def state(self) -> State:
        return self._state

    def move_to(self, state: State) -> None:
        """Changes the state and calls the listener; an error of the listener is logged."""
        with self._lock:
            before, self._state = self._state, state
        if before is state or self.listener is None:
            return
        try:
            self.listener(state, before)
        except Exception:
            _logger.exception("The state listener failed on the change from %s to %s", before.name, state.name)

    def replaces(self, error: StreamsError) -> bool:
        """Whether the handler of uncaught exceptions asks for a restart after an error, with the answer "replace"."""
        if self.uncaught_exception_handler is None:
            return False
        try:
            answer = self.uncaught_exception_handler(error)
        except Exception:
            _logger.exception(
                "The uncaught exception handler failed; the application stops with the error it was given"
            )
            return False
        if answer not in UNCAUGHT_EXCEPTION_RESPONSES:
            allowed = ", ".join(map(repr, UNCAUGHT_EXCEPTION_RESPONSES))
            _logger.error(
                "The uncaught exception handler answered %r; allowed: %s. The application stops", answer, allowed
            )
            return False
        return answer == "replace"


def pause_before_restart_s(failures: int) -> float:
    """How long to wait before a restart: 1, 2, 4, ... s, at most 60, given the number of failures without a commit."""
    return min(2.0 ** (failures - 1), _LONGEST_PAUSE_S)


class Supervisor:
    """Waits in a thread of its own for a query to end. Restarts it if its topics changed or the user's handler asks.

    Args:
        await_end: waits for the current query, and raises the error it failed with.
        start_query: starts the query again after the last commit.
        committed_batch: the number of the last committed batch.
        lifecycle: calls the user's handler of uncaught exceptions.
        on_end: called when the query has ended and is not restarted.
    """

    def __init__(
        self,
        await_end: Callable[[], object],
        start_query: Callable[[], object],
        committed_batch: Callable[[], int],
        lifecycle: Lifecycle,
        on_end: Callable[[], object],
    ) -> None:
        self._await_end = await_end
        self._start_query = start_query
        self._committed_batch = committed_batch
        self._lifecycle = lifecycle
        self._on_end = on_end
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self.changing = threading.Lock()
        self.pause_s = pause_before_restart_s
        self._thread = threading.Thread(target=self._run, name="headrace-supervisor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def wait(self, timeout: timedelta | None) -> bool:
        """Waits until the query has ended and is not restarted, or the timeout is over; returns whether it has ended.

        Raises:
            StreamsError: if the query failed.
        """
        if not self._ended.wait(None if timeout is None else timeout.total_seconds()):
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def prevent_restarts(self) -> None:
        """Makes the current query the last one, however it ends."""
        self._stopping.set()

    def join(self) -> None:
        """Waits until the thread has ended, unless it is the caller."""
        if threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_WITHIN_S)

    def _run(self) -> None:
        try:
            self._supervise()
        except BaseException as error:
            self._failure = error
            self._lifecycle.move_to(State.ERROR)
        finally:
            self._on_end()
            self._ended.set()

    def _supervise(self) -> None:
        failures, batch = 0, -1
        while True:
            try:
                self._await_end()
            except NewPartitionsError as change:
                _logger.warning("%s", change)
            except StreamsError as error:
                committed = self._committed_batch()
                failures, batch = failures + 1 if committed == batch else 1, committed
                if self._stopping.is_set() or not self._lifecycle.replaces(error):
                    raise
                pause_s = self.pause_s(failures)
                _logger.warning("The application failed and starts again in %.0f s: %s", pause_s, error)
                self._lifecycle.move_to(State.STARTING)
                self._stopping.wait(pause_s)
            else:
                self._lifecycle.move_to(State.NOT_RUNNING)
                return
            with self.changing:
                if self._stopping.is_set():
                    return
                self._start_query()
