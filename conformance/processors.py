"""The processors of the catalogue, as in the recorder's `Processors.java`, `Punctuations.java`, `TopicStores.java`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import headrace as hr
from conformance import functions as f
from headrace import serdes


class Contextual(hr.Processor):
    """A processor with a `context` field."""

    def init(self, context: Any) -> None:
        self.context = context


class Obedient(Contextual):
    """Forwards as its input says: "all", "at 77", "only second", "only second at 5", "burst 99" (at 99, then as is)."""

    def process(self, record: Any) -> None:
        match f.show(record.value).split(" "):
            case ["at", timestamp_ms]:
                self.context.forward(record, to=hr.To.all().with_timestamp(int(timestamp_ms)))
            case ["only", child]:
                self.context.forward(record, to=hr.To.child(child))
            case ["only", child, "at", timestamp_ms]:
                self.context.forward(record, to=hr.To.child(child).with_timestamp(int(timestamp_ms)))
            case ["burst", timestamp_ms]:
                self.context.forward(record.with_timestamp(int(timestamp_ms)))
                self.context.forward(record)
            case _:
                self.context.forward(record)


class Remembering(Contextual):
    """Stores the last value of each key, and forwards it with the new one."""

    def process(self, record: Any) -> None:
        if record.key is None:
            self.context.forward(record.with_value("keyless"))
            return
        last = self.context.state_store("last")
        self.context.forward(record.with_value(f.joined(last.get(record.key), record.value)))
        last.put(record.key, record.value)


class Writer(Contextual):
    """Writes to a store that another processor reads."""

    def process(self, record: Any) -> None:
        self.context.state_store("shared").put(record.key, record.value)


class Reader(Contextual):
    """Reads from a store that another processor writes."""

    def process(self, record: Any) -> None:
        stored = self.context.state_store("shared").get(record.key)
        self.context.forward(record.with_value(f.joined(record.value, stored)))


class Listing(Contextual):
    """Forwards the contents of its store as the value, in the order of the store."""

    def process(self, record: Any) -> None:
        rows = self.context.state_store("rows")
        rows.put(record.key, record.value)
        listed = "".join(f"{key}={value};" for key, value in rows.all())
        between = "".join(key for key, _ in rows.range("b", "c"))
        self.context.forward(record.with_value(f"{listed}|{between}"))


class Rekeying(Contextual):
    """Gives each record a new key."""

    def process(self, record: Any) -> None:
        self.context.forward(record.with_key(f.head(record.value)))


class Timing(Contextual):
    """Gives each record the timestamp that its value contains."""

    def process(self, record: Any) -> None:
        self.context.forward(record.with_timestamp(abs(int(record.value))))


class Timing100(Contextual):
    """Moves each record 100 ms ahead."""

    def process(self, record: Any) -> None:
        self.context.forward(record.with_timestamp(record.timestamp_ms + 100))


class Describing(Contextual):
    """Forwards a record's topic, partition, offset and timestamp, and the task's stream time, as the value."""

    def process(self, record: Any) -> None:
        metadata = _value(self.context.record_metadata)
        origin = f"{metadata.topic}/{metadata.partition}/{metadata.offset}"
        stream_time_ms = _value(self.context.current_stream_time_ms)
        self.context.forward(record.with_value(f"{origin} at {record.timestamp_ms} of {stream_time_ms}"))


class Heading(Contextual):
    """Forwards the names of a record's headers as the value, and adds a header."""

    def process(self, record: Any) -> None:
        seen = "".join(f"{name};" for name, _ in record.headers)
        headers = (*record.headers, ("seen", f.show(record.value).encode()))
        self.context.forward(record.with_value(seen).with_headers(headers))


class Doubling(Contextual):
    """Forwards two records for each: one shows the previous value of its key, the other is 1 ms later."""

    def process(self, record: Any) -> None:
        before = self.context.state_store("before")
        key = f.show(record.key)
        self.context.forward(record.with_value(f.joined(before.get(key), record.value)))
        self.context.forward(record.with_value(f.shout(record.value)).with_timestamp(record.timestamp_ms + 1))
        before.put(key, record.value)


class Doubled(Contextual):
    """Forwards each record twice, the second one 5 ms later."""

    def process(self, record: Any) -> None:
        self.context.forward(record)
        self.context.forward(record.with_timestamp(record.timestamp_ms + 5))


class Ticking(Contextual):
    """Forwards records; each time its schedule fires it forwards a record ("tick", the time it received)."""

    def __init__(self, interval: timedelta, kind: Any, time_shift: timedelta | None = None) -> None:
        self._schedule = (interval, kind)
        self._time_shift = time_shift

    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(*self._schedule, self.tick, time_shift=self._time_shift)

    def process(self, record: Any) -> None:
        self.context.forward(record)

    def tick(self, timestamp_ms: int) -> None:
        self.context.forward(hr.Record("tick", str(timestamp_ms)))


class Cancelling(Contextual):
    """Fires a few times, then cancels itself."""

    def __init__(self, interval: timedelta, times: int) -> None:
        self._interval = interval
        self._left = times

    def init(self, context: Any) -> None:
        super().init(context)
        self._schedule = context.schedule(self._interval, hr.PunctuationType.WALL_CLOCK_TIME, self.tick)

    def process(self, record: Any) -> None:
        self.context.forward(record)

    def tick(self, timestamp_ms: int) -> None:
        self.context.forward(hr.Record("tick", str(timestamp_ms)))
        self._left -= 1
        if self._left == 0:
            self._schedule.cancel()


class Flushing(Contextual):
    """Collects values by key; a wall-clock schedule forwards and deletes them in key order."""

    def __init__(self, interval: timedelta) -> None:
        self._interval = interval

    def init(self, context: Any) -> None:
        super().init(context)
        self._held = context.state_store("held")
        context.schedule(self._interval, hr.PunctuationType.WALL_CLOCK_TIME, self.flush)

    def process(self, record: Any) -> None:
        if record.key is not None:
            self._held.put(record.key, f.appended(self._held.get(record.key), record.value))

    def flush(self, timestamp_ms: int) -> None:  # noqa: ARG002
        for key, value in list(self._held.all()):
            self.context.forward(hr.Record(key, value))
            self._held.delete(key)


class Collecting(Contextual):
    """Appends each value, with its timestamp and headers, to the row of its key; a null deletes the row."""

    def process(self, record: Any) -> None:
        rows, key = self.context.state_store("rows"), f.show(record.key)
        row = f"{record.value}@{record.timestamp_ms}" + "".join(name for name, _ in record.headers)
        rows.put(key, None if record.value is None else f.appended(rows.get(key), row))


class LookingUpHead(Contextual):
    """Forwards each value with the row of its first letter."""

    def process(self, record: Any) -> None:
        row = self.context.state_store("rows").get(f.show(f.head(record.value)))
        self.context.forward(record.with_value(f.joined(record.value, row)))


class LookingUpKey(Contextual):
    """Forwards each value with the row of its key."""

    def process(self, record: Any) -> None:
        row = self.context.state_store("rows").get(f.show(record.key))
        self.context.forward(record.with_value(f.joined(record.value, row)))


class DeclaringWriter(Writer):
    """A writer that declares its store."""

    def stores(self) -> list[hr.StoreSpec]:
        return [texts("shared")]


class DeclaringReader(Reader):
    """A reader that declares its store."""

    @classmethod
    def stores(cls) -> list[hr.StoreSpec]:
        return [texts("shared")]


class Editing(Contextual):
    """Forwards the last "trace" header as the value, removes the "flag" headers, and adds a header."""

    def process(self, record: Any) -> None:
        headers = hr.Headers(record.headers)
        last = headers.last_header("trace")
        seen = None if last is None else last.decode()
        edited = headers.remove("flag").add("seen", f.show(seen).encode())
        self.context.forward(record.with_value(f.joined(record.value, seen)).with_headers(edited))


def texts(name: str) -> Any:
    """A store of texts by texts."""
    return hr.Stores.key_value(name, key_serde=serdes.String(), value_serde=serdes.Json())


def _value(member: Any) -> Any:
    """The value of a member of the context, whether it is an attribute or a method."""
    return member() if callable(member) else member
