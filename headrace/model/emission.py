"""When results are emitted: with each update, when a window closes, or after a time limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from headrace._graph.checks import checked_duration
from headrace.errors import TopologyError


@dataclass(frozen=True)
class EmitStrategy:
    """Every update of a window, or only its final result.

    Example:
        >>> EmitStrategy.on_window_close() == EmitStrategy.on_window_update()
        False
    """

    on_close: bool

    @classmethod
    def on_window_update(cls) -> EmitStrategy:
        """Every record that changes a window writes its new result; the usual way."""
        return cls(on_close=False)

    @classmethod
    def on_window_close(cls) -> EmitStrategy:
        """A window's result is written once, when it can no longer change: stream time reached its end plus grace."""
        return cls(on_close=True)


@dataclass(frozen=True)
class BufferConfig:
    """How much a suppressed table may hold back, and what happens beyond that: emit early, or shut down.

    Example:
        >>> BufferConfig.max_records(1000).emits_early, BufferConfig.max_records(1000).shut_down_when_full().emits_early
        (True, False)
    """

    record_limit: int | None = None
    byte_limit: int | None = None
    emits_early: bool = False

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.record_limit is not None or self.byte_limit is not None

    @classmethod
    def unbounded(cls) -> BufferConfig:
        """No limit: rows wait until their time has come."""
        return cls()

    @classmethod
    def max_records(cls, records: int) -> BufferConfig:
        """At most that many rows, per task; the oldest are emitted early when there are more.

        Raises:
            TopologyError: unless it is a whole number of 1 or more.
        """
        return cls(record_limit=_checked_size(records, "max_records"), emits_early=True)

    @classmethod
    def max_bytes(cls, size: int) -> BufferConfig:
        """Rows of at most that many bytes, per task; the oldest are emitted early when there are more.

        A row counts as in Kafka Streams: its key, its value, the values it replaces, headers, the name of the topic it
        came from, and 28 bytes.

        Raises:
            TopologyError: unless it is a whole number of 1 or more.
        """
        return cls(byte_limit=_checked_size(size, "max_bytes"), emits_early=True)

    def with_max_records(self, records: int) -> BufferConfig:
        """The same, limited to that many rows as well."""
        return replace(self, record_limit=_checked_size(records, "with_max_records"))

    def with_max_bytes(self, size: int) -> BufferConfig:
        """The same, limited to that many bytes as well."""
        return replace(self, byte_limit=_checked_size(size, "with_max_bytes"))

    def emit_early_when_full(self) -> BufferConfig:
        """The same; beyond a limit the rows that wait longest are emitted before their time."""
        return replace(self, emits_early=True)

    def shut_down_when_full(self) -> BufferConfig:
        """The same; beyond a limit the application fails, so that no row is ever emitted before its time."""
        return replace(self, emits_early=False)


_UNBOUNDED = BufferConfig.unbounded()


@dataclass(frozen=True)
class Suppressed:
    """When a table that holds its updates back lets them go; for `KTable.suppress`. `limit_ms` of `None`: at the close.

    Example:
        >>> from datetime import timedelta
        >>> Suppressed.until_time_limit(timedelta(seconds=5), buffer=BufferConfig.max_records(1000)).limit_ms
        5000
    """

    limit_ms: int | None
    buffer: BufferConfig

    @classmethod
    def until_window_closes(cls, buffer: BufferConfig | None = None) -> Suppressed:
        """Only the final result of each window, when the window closes.

        Args:
            buffer: how much may be held back; unbounded unless given. It must not emit early: what is emitted is final.

        Raises:
            TopologyError: for a buffer that emits early when it is full.
        """
        given = _checked_buffer(buffer, "until_window_closes")
        if given.emits_early:
            message = (
                f"Suppressed.until_window_closes() was given {given}, which emits early when full: results would not "
                "be final. Allowed: BufferConfig.unbounded(), or a limited one with .shut_down_when_full()."
            )
            raise TopologyError(message)
        return cls(None, given)

    @classmethod
    def until_time_limit(cls, limit: timedelta, buffer: BufferConfig | None = None) -> Suppressed:
        """The last update of each row, once stream time has gone `limit` beyond the first one held back.

        Args:
            limit: how long a row is held back, 0 or more.
            buffer: how much may be held back; unbounded unless given.

        Raises:
            TopologyError: for a limit that is no duration, or negative.
        """
        limit_ms = checked_duration(limit, "Suppressed.until_time_limit(): limit", at_least_ms=0)
        return cls(limit_ms, _checked_buffer(buffer, "until_time_limit"))


def _checked_size(size: int, method: str) -> int:
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        message = f"BufferConfig.{method}() was given {size!r}; it must be a whole number, 1 or more."
        raise TopologyError(message)
    return size


def _checked_buffer(buffer: BufferConfig | None, method: str) -> BufferConfig:
    if buffer is None:
        return _UNBOUNDED
    if not isinstance(buffer, BufferConfig):
        message = (
            f"Suppressed.{method}() was given buffer={buffer!r}; allowed: BufferConfig.unbounded(), .max_records(n), "
            ".max_bytes(n)."
        )
        raise TopologyError(message)
    return buffer
