"""Runs work in another thread, so that the main thread can show progress and handle Ctrl-C.

Spark takes over Ctrl-C when the main thread creates its session, and would cancel the running batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """A call in a background thread. The process does not wait for it at exit."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._done = threading.Event()
        self._result: T
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="headrace-cli", daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the call, at most `seconds`; returns whether it has ended."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """What the call returned; raises what it raised."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._call()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()
