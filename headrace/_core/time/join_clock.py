"""The time of a join, which the records of both its sides move."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._core.task.context import TaskContext
from headrace._core.time.idle_keys import IdleKeys, IdleSettings
from headrace._core.time.stream_time import stream_time


class ClockSettings(NamedTuple):
    """The name of the join, and the names of the stores where its time is kept."""

    join: str
    stream_times: str
    key_times: str | None
    idle: IdleSettings | None


class JoinClock:
    """How far time has come, for the join or for each key; and which keys have fallen silent, if that matters."""

    def __init__(self, context: TaskContext, settings: ClockSettings) -> None:
        self.time = stream_time(context, settings.join, settings.stream_times, settings.key_times)
        self.idle: IdleKeys | None = None
        if settings.idle is not None and settings.key_times is not None:
            self.idle = IdleKeys(context, settings.idle, settings.key_times)

    @classmethod
    def of(cls, context: TaskContext, settings: ClockSettings) -> JoinClock:
        """The one that both sides of the join have in this task."""
        return context.shared(settings.join, lambda: cls(context, settings))

    def advance(self, key: Any, timestamp_ms: int) -> int:
        """Takes a record of either side into account; one without a key counts only if all keys have one time."""
        if key is None and self.time.by_key:
            return timestamp_ms
        if self.idle is not None:
            self.idle.saw(key)
        return self.time.advance(key, timestamp_ms)
