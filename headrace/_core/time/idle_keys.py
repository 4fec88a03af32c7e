"""Keys that fell silent: when each was last seen on the wall clock, so that looking for them costs only what is due."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._core.task.context import TaskContext
from headrace._state.bytes.composite import BY_TIME, KEY_TIME, time_at, time_bytes
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.stores.key_value import KeyValueStore


class IdleSettings(NamedTuple):
    """For how long a key may be silent, and the name of the store where it is kept when each was seen.

    `beside` are the names of such stores of other operators: a key they have seen is not silent.
    """

    idle_ms: int
    store: str
    beside: tuple[str, ...] = ()


class IdleKey(NamedTuple):
    """A key that was not seen for too long."""

    key: Any
    key_bytes: bytes


class IdleKeys:
    """The keys of one operator, which have times of their own in `key_times`.

    A key is seen at the clock of its batch: one that is repeated sees it at the same time.
    """

    def __init__(self, context: TaskContext, settings: IdleSettings, key_times: str) -> None:
        self._context = context
        self._idle_ms = settings.idle_ms
        self._kept = context.store(settings.store)
        self._beside = [context.store(name) for name in settings.beside]
        self._times: KeyValueStore[Any, int] = context.store(key_times)
        self._queue = TimeQueue(self._kept, BY_TIME)

    def saw(self, key: Any) -> None:
        """Notes that there was a record of a key."""
        key_bytes = self._times.key_bytes(key)
        now_ms = self._context.system_time_ms
        before = self._kept.get(KEY_TIME + key_bytes)
        if before == time_bytes(now_ms):
            return
        if before is not None:
            self._queue.remove(time_at(before, 0), key_bytes)
        self._note(key_bytes, now_ms)

    def take(self) -> list[IdleKey]:
        """Forgets the keys that are silent for too long by the clock of now, and their times; returns them."""
        found = []
        last_ms = self._context.system_time_ms - self._idle_ms
        for seen_ms, key_bytes in self._queue.until(last_ms):
            self._queue.remove(seen_ms, key_bytes)
            seen_beside_ms = self._seen_beside(key_bytes)
            if seen_beside_ms > last_ms:
                self._note(key_bytes, seen_beside_ms)
                continue
            self._kept.delete(KEY_TIME + key_bytes)
            self._times.contents.delete(key_bytes)
            found.append(IdleKey(self._times.key_serde.deserialize(key_bytes), key_bytes))
        return found

    def next_due_ms(self) -> int | None:
        """When the next key will have been silent for too long, if nothing of it arrives."""
        first = self._queue.first()
        return None if first is None else first[0] + self._idle_ms

    def _note(self, key_bytes: bytes, seen_ms: int) -> None:
        self._kept.put(KEY_TIME + key_bytes, time_bytes(seen_ms))
        self._queue.add(seen_ms, key_bytes)

    def _seen_beside(self, key_bytes: bytes) -> int:
        """When one of the other operators last saw a key; -1 if none did."""
        seen = [kept.get(KEY_TIME + key_bytes) for kept in self._beside]
        return max((time_at(raw, 0) for raw in seen if raw is not None), default=-1)
