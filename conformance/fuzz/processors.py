"""The processors of random topologies, by name: the same as in the recorder's `fuzz/Agents.java`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import headrace as hr
from conformance.fuzz.functions import clip, head, show


class Agent(hr.Processor):
    """Does one of several tasks; three of them act when time passes."""

    def __init__(self, task: str, store: str, interval_ms: int) -> None:
        self._task = task
        self._store_name = store
        self._interval = timedelta(milliseconds=interval_ms)

    def init(self, context: Any) -> None:
        self._context = context
        self._store = context.state_store(self._store_name)
        match self._task:
            case "tick_wall":
                context.schedule(self._interval, hr.PunctuationType.WALL_CLOCK_TIME, self._tick)
            case "flush_wall":
                context.schedule(self._interval, hr.PunctuationType.WALL_CLOCK_TIME, self._flush)
            case "tick_stream":
                context.schedule(
                    self._interval, hr.PunctuationType.STREAM_TIME, self._flush, time_shift=timedelta(milliseconds=0)
                )

    def _tick(self, timestamp_ms: int) -> None:
        self._context.forward(hr.Record("tick", str(timestamp_ms), timestamp_ms))

    def _flush(self, timestamp_ms: int) -> None:
        rows = list(self._store.all())
        for key, value in rows:
            self._context.forward(hr.Record(key, clip(f"{value}@{timestamp_ms}"), timestamp_ms))
        for key, _ in rows:
            self._store.delete(key)

    def process(self, record: Any) -> None:
        key, value = show(record.key), show(record.value)
        forward = self._context.forward
        match self._task:
            case "later":
                forward(record.with_value(value).with_timestamp(record.timestamp_ms + 7))
            case "earlier":
                forward(record.with_value(value).with_timestamp(max(0, record.timestamp_ms - 9)))
            case "rekey":
                forward(record.with_value(value).with_key(head(record.value)))
            case "remember" | "recent":
                forward(record.with_value(clip(f"{show(self._store.get(key))}<{value}")))
                self._store.put(key, value)
            case "backwards":
                self._store.put(key, value)
                rows = [*self._store.reverse_all(), *self._store.reverse_range(None, key)]
                forward(record.with_value(clip("".join(f"{name}{text}" for name, text in rows))))
            case "tick_wall":
                forward(record.with_value(value))
            case "flush_wall" | "tick_stream":
                self._store.put(key, clip(show(self._store.get(key)) + value))


class Transformer(hr.ValueTransformerWithKey[Any, Any, str]):
    """Computes the rows of a table in one of several ways; one needs a store, two give deleted rows a value."""

    def __init__(self, task: str, store: str) -> None:
        self._task = task
        self._store_name = store

    def transform(self, key: Any, value: Any) -> str | None:
        match self._task:
            case "nil_b":
                return None if value is None or "b" in show(value) else clip(f"{show(value)}?")
            case "shown":
                return clip(f"{show(key)}={show(value)}")
        store = self.context.state_store(self._store_name)
        before = show(store.get(show(key)))
        store.put(show(key), show(value))
        return clip(f"{before}^{show(value)}")


def store_of(task: str, name: str) -> Any:
    """The store of a processor or a transformer."""
    texts = {"key_serde": hr.serdes.String(), "value_serde": hr.serdes.String()}
    return hr.Stores.lru_map(name, max_entries=2, **texts) if task == "recent" else hr.Stores.key_value(name, **texts)


class ValueAgent(hr.Processor):
    """Forwards each value with the one before, then once more a millisecond later."""

    def __init__(self, store: str) -> None:
        self._store_name = store

    def init(self, context: Any) -> None:
        self._context = context
        self._store = context.state_store(self._store_name)

    def process(self, record: Any) -> None:
        key, value = show(record.key), show(record.value)
        self._context.forward(record.with_value(clip(f"{show(self._store.get(key))}>{value}")))
        self._context.forward(record.with_value(value).with_timestamp(record.timestamp_ms + 1))
        self._store.put(key, value)
