"""When results are emitted: on every update, when a window closes, or after a time limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from headrace._suggestions.attributes import SuggestingMeta
from headrace.errors import TopologyError
from headrace.model.arguments import checked_duration


@dataclass(frozen=True)
class EmitStrategy(metaclass=SuggestingMeta):
    """Decides whether a window emits every update or only its final result; for `emit_strategy()` of windowed streams.

    Example:
        >>> EmitStrategy.on_window_close() == EmitStrategy.on_window_update()
        False
    """

    on_close: bool

    @classmethod
    def on_window_update(cls) -> EmitStrategy:
        """Emits the new result of a window after every record that changes it. The default."""
        return cls(on_close=False)

    @classmethod
    def on_window_close(cls) -> EmitStrategy:
        """Emits the result of a window once, when the window closes and the result is final.

        `TimeWindowedKStream` and `SessionWindowedKStream` say when windows close.
        """
        return cls(on_close=True)


@dataclass(frozen=True)
class BufferConfig(metaclass=SuggestingMeta):
    """Limits how many updates `KTable.suppress` may hold back, and says what to do beyond the limit.

    Then either the oldest rows are emitted early, or the application fails.

    Example:
        >>> BufferConfig.max_records(1000).emits_early, BufferConfig.max_records(1000).shut_down_when_full().emits_early
        (True, False)
    """

    record_limit: int | None = None
    byte_limit: int | None = None
    emits_early: bool = False

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit of records or bytes."""
        return self.record_limit is not None or self.byte_limit is not None

    @classmethod
    def unbounded(cls) -> BufferConfig:
        """Sets no limit: no row is emitted early, however many are held back."""
        return cls()

    @classmethod
    def max_records(cls, records: int) -> BufferConfig:
        """Limits the buffer to this many rows per task; beyond that, the oldest rows are emitted early.

        Raises:
            TopologyError: if `records` is not a whole number of 1 or more.
        """
        return cls(record_limit=_checked_size(records, "max_records"), emits_early=True)

    @classmethod
    def max_bytes(cls, size: int) -> BufferConfig:
        """Limits the buffer to this many bytes per task; beyond that, the oldest rows are emitted early.

        The size of a row is computed as in Kafka Streams: its key, its value, the values that it replaces, its headers,
        the name of its topic, and 28 bytes.

        Raises:
            TopologyError: if `size` is not a whole number of 1 or more.
        """
        return cls(byte_limit=_checked_size(size, "max_bytes"), emits_early=True)

    def with_max_records(self, records: int) -> BufferConfig:
        """Returns a copy that is also limited to this many rows per task."""
        return replace(self, record_limit=_checked_size(records, "with_max_records"))

    def with_max_bytes(self, size: int) -> BufferConfig:
        """Returns a copy that is also limited to this many bytes per task."""
        return replace(self, byte_limit=_checked_size(size, "with_max_bytes"))

    def with_no_bound(self) -> BufferConfig:
        """Returns a configuration without limits, as `unbounded()` does."""
        return BufferConfig.unbounded()

    def emit_early_when_full(self) -> BufferConfig:
        """Returns a copy that emits the oldest rows early when the limit is exceeded."""
        return replace(self, emits_early=True)

    def shut_down_when_full(self) -> BufferConfig:
        """Returns a copy that fails the application when the limit is exceeded, so that no row is emitted early."""
        return replace(self, emits_early=False)


_UNBOUNDED = BufferConfig.unbounded()


@dataclass(frozen=True)
class Suppressed(metaclass=SuggestingMeta):
    """Decides how long `KTable.suppress` holds updates back: until windows close (`limit_ms` is `None`), or for a time.

    Example:
        >>> from datetime import timedelta
        >>> Suppressed.until_time_limit(timedelta(seconds=5), buffer=BufferConfig.max_records(1000)).limit_ms
        5000
    """

    limit_ms: int | None
    buffer: BufferConfig

    @classmethod
    def until_window_closes(cls, buffer: BufferConfig | None = None) -> Suppressed:
        """Emits only the final result of each window, when the window closes.

        Args:
            buffer: limits how much is held back; default: no limit. A limited buffer needs `shut_down_when_full()`,
                because a result that is emitted early would not be final.

        Raises:
            TopologyError: for a buffer that emits early when it is full.
        """
        checked = _checked_buffer(buffer, "until_window_closes")
        if checked.emits_early:
            message = (
                f"Suppressed.until_window_closes() was given {checked}, which emits early when full: results would not "
                "be final. Allowed: BufferConfig.unbounded(), or a limited one with .shut_down_when_full()."
            )
            raise TopologyError(message)
        return cls(None, checked)

    @classmethod
    def until_time_limit(cls, limit: timedelta, buffer: BufferConfig | None = None) -> Suppressed:
        """Emits the last update of a row after a time limit.

        A row is emitted when stream time reaches the timestamp of its first update that is held back, plus `limit`.

        Args:
            limit: how long a row is held back, 0 or more.
            buffer: limits how much is held back; default: no limit.

        Raises:
            TopologyError: if the limit is negative or not a `timedelta`.
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
