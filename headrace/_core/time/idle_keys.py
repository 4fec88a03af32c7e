"""Idle keys: when each key last had a record by the wall clock, queued by time, so that only due keys are read.

Each operator decides what becomes of an idle key (`close_idle`): its windows close, or its unmatched records leave.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._core.task.context import TaskContext
from headrace._state.bytes.composite import BY_TIME, KEY_TIME, time_at, time_bytes
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.stores.key_value import TypedKeyValueStore


class IdleSettings(NamedTuple):
    """After how long without records a key is idle, and the store that has the time each key was last seen.

    `beside` names such stores of other operators: a key that one of them has seen is not idle.
    """

    idle_ms: int
    store: str
    beside: tuple[str, ...] = ()


class IdleKey(NamedTuple):
    """An idle key, deserialized and serialized."""

    key: Any
    key_bytes: bytes


class IdleKeys:
    """Remembers when one operator last saw each key, and removes the keys that are idle.

    `key_times` is the store with the stream time of each key; an idle key is removed from it, too.

    A key is seen at the system time of its batch, so that a batch that is repeated gives the same times.
    """

    def __init__(self, context: TaskContext, settings: IdleSettings, key_times: str) -> None:
        self._context = context
        self._idle_ms = settings.idle_ms
        self._seen = context.store(settings.store)
        self._beside = [context.store(name) for name in settings.beside]
        self._times: TypedKeyValueStore[Any, int] = context.store(key_times)
        self._queue = TimeQueue(self._seen, BY_TIME)

    def see(self, key: Any) -> None:
        """Notes that a key had a record just now."""
        key_bytes = self._times.key_bytes(key)
        now_ms = self._context.system_time_ms
        before = self._seen.get(KEY_TIME + key_bytes)
        if before == time_bytes(now_ms):
            return
        if before is not None:
            self._queue.remove(time_at(before, 0), key_bytes)
        self._set_seen(key_bytes, now_ms)

    def remove_idle(self) -> list[IdleKey]:
        """Removes the keys that are idle by the current system time, with their stream times, and returns them."""
        self._follow_clock_back()
        idle = []
        last_ms = self._context.system_time_ms - self._idle_ms
        for seen_ms, key_bytes in self._queue.until(last_ms):
            self._queue.remove(seen_ms, key_bytes)
            other_seen_ms = self._last_seen_beside(key_bytes)
            if other_seen_ms > last_ms:
                self._set_seen(key_bytes, other_seen_ms)
                continue
            self._seen.delete(KEY_TIME + key_bytes)
            self._times.contents.delete(key_bytes)
            idle.append(IdleKey(self._times.key_serde.deserialize(key_bytes), key_bytes))
        return idle

    def next_due_ms(self) -> int | None:
        """When, by the wall clock, the next key becomes idle if it gets no record before; `None` for never."""
        first = self._queue.first()
        return None if first is None else first[0] + self._idle_ms

    def _follow_clock_back(self) -> None:
        """Counts keys seen while the wall clock was ahead as seen now: else they would be idle much too late."""
        now_ms = self._context.system_time_ms
        while (ahead := self._queue.first_from(now_ms + 1)) is not None:
            seen_ms, key_bytes = ahead
            self._queue.remove(seen_ms, key_bytes)
            self._set_seen(key_bytes, now_ms)

    def _set_seen(self, key_bytes: bytes, seen_ms: int) -> None:
        self._seen.put(KEY_TIME + key_bytes, time_bytes(seen_ms))
        self._queue.add(seen_ms, key_bytes)

    def _last_seen_beside(self, key_bytes: bytes) -> int:
        """When one of the other operators last saw a key; -1 if none did."""
        seen = [store.get(KEY_TIME + key_bytes) for store in self._beside]
        return max((time_at(raw, 0) for raw in seen if raw is not None), default=-1)
