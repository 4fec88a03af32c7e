"""The stream time of a join, which the records of both sides advance."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._core.task.context import TaskContext
from headrace._core.time.idle_keys import IdleKeys, IdleSettings
from headrace._core.time.stream_time import stream_time


class ClockSettings(NamedTuple):
    """The name of a join, the names of the stores with its stream time, and its settings for idle keys.

    `key_times` is `None` if all keys share one stream time.
    """

    join: str
    stream_times: str
    key_times: str | None
    idle: IdleSettings | None


class JoinClock:
    """The stream time of a join, or of each of its keys. `idle` finds idle keys, if the join closes them."""

    def __init__(self, context: TaskContext, settings: ClockSettings) -> None:
        self.time = stream_time(context, settings.join, settings.stream_times, settings.key_times)
        self.idle: IdleKeys | None = None
        if settings.idle is not None and settings.key_times is not None:
            self.idle = IdleKeys(context, settings.idle, settings.key_times)

    @classmethod
    def of(cls, context: TaskContext, settings: ClockSettings) -> JoinClock:
        """The clock that both sides of a join share in a task."""
        return context.shared(settings.join, lambda: cls(context, settings))

    def advance(self, key: Any, timestamp_ms: int) -> int:
        """Advances stream time to the timestamp of a record of either side, unless it is later already; returns it.

        If each key has its own stream time, a record without a key advances none, and its timestamp is returned.
        """
        if key is None and self.time.by_key:
            return timestamp_ms
        if self.idle is not None:
            self.idle.see(key)
        return self.time.advance(key, timestamp_ms)
