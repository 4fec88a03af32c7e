"""Finds idle keys: those that have had no record for a given time by the wall clock.

Keys are queued by the time of their last record, so that only idle ones are read. Each operator decides in `close_idle`
what happens with an idle key: its windows close, or its unmatched records are emitted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._core.task.context import TaskContext
from headrace._state.bytes.composite import BY_TIME, KEY_TIME, time_at, time_bytes
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.stores.key_value import TypedKeyValueStore


class IdleSettings(NamedTuple):
    """A key is idle after `idle_ms` without a record. `store` names the store with the time of each key's last record.

    `beside` names the same kind of store of other operators that share this operator's windows, as in a cogroup. A key
    is idle only if it is idle for them too.
    """

    idle_ms: int
    store: str
    beside: tuple[str, ...] = ()


class IdleKey(NamedTuple):
    """An idle key, deserialized and serialized."""

    key: Any
    key_bytes: bytes


class IdleKeys:
    """Remembers when an operator last saw a record of each key, and removes the keys that are idle.

    `key_times` names the store with the stream time of each key. Idle keys are removed from that store too.

    A record counts as seen at the system time of its batch, so that a repeated batch stores the same times.
    """

    def __init__(self, context: TaskContext, settings: IdleSettings, key_times: str) -> None:
        self._context = context
        self._idle_ms = settings.idle_ms
        self._seen = context.store(settings.store)
        self._beside = [context.store(name) for name in settings.beside]
        self._times: TypedKeyValueStore[Any, int] = context.store(key_times)
        self._queue = TimeQueue(self._seen, BY_TIME)

    def see(self, key: Any) -> None:
        """Stores the batch's system time as the time of the key's last record."""
        key_bytes = self._times.key_bytes(key)
        now_ms = self._context.system_time_ms
        before = self._seen.get(KEY_TIME + key_bytes)
        if before == time_bytes(now_ms):
            return
        if before is not None:
            self._queue.remove(time_at(before, 0), key_bytes)
        self._set_seen(key_bytes, now_ms)

    def remove_idle(self) -> list[IdleKey]:
        """Removes and returns the keys that are idle at the current system time. Removes their stream times, too."""
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
        """The wall-clock time at which the next key becomes idle if it gets no record; `None` if there are no keys."""
        first = self._queue.first()
        return None if first is None else first[0] + self._idle_ms

    def _follow_clock_back(self) -> None:
        """Sets times in the future to now. They come from a wall clock that was ahead: keys would be idle too late."""
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
