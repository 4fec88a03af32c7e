"""Windows: a span of time, a key in a window, and the rules that assign records to windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Generic, TypeVar

import msgspec

from headrace._suggestions.attributes import SuggestingMeta
from headrace.errors import StreamsError, TopologyError
from headrace.model.arguments import checked_duration
from headrace.model.time.end_of_time import END_OF_TIME_MS, Time, later

K = TypeVar("K")


class Window(msgspec.Struct, frozen=True, order=True, gc=False):
    """A span of time in epoch milliseconds. Windows are sorted by start, then end.

    The end does not belong to a time window, but it does belong to a sliding or session window. A window that would end
    after the highest possible timestamp, 2^63-1, ends there and never closes.

    Raises:
        StreamsError: for a negative start, or an end before the start.

    Example:
        >>> sorted([Window(10, 20), Window(0, 20), Window(0, 10)])[0]
        Window(start_ms=0, end_ms=10)
    """

    start_ms: int
    end_ms: int

    def __post_init__(self) -> None:
        if not 0 <= self.start_ms <= self.end_ms:
            message = (
                f"There is no window from {self.start_ms} to {self.end_ms}: "
                "a window starts at 0 or later and does not end before it starts."
            )
            raise StreamsError(message)

    @property
    def start_time(self) -> datetime:
        """The start as a `datetime` in UTC, or the last moment of the year 9999 if it is later."""
        return _utc(self.start_ms)

    @property
    def end_time(self) -> datetime:
        """The end as a `datetime` in UTC, or the last moment of the year 9999 if it is later (unlimited windows)."""
        return _utc(self.end_ms)

    def overlaps(self, other: Window, *, end_included: bool = False) -> bool:
        """Whether two windows have a moment in common.

        Args:
            other: the other window.
            end_included: whether the ends belong to the windows, as in sliding and session windows. By default they do
                not, as in time windows.

        Example:
            >>> Window(0, 10).overlaps(Window(10, 20)), Window(0, 10).overlaps(Window(10, 20), end_included=True)
            (False, True)
        """
        if end_included:
            return self.start_ms <= other.end_ms and other.start_ms <= self.end_ms
        return self.start_ms < other.end_ms and other.start_ms < self.end_ms

    def __str__(self) -> str:
        return f"{self.start_ms}/{self.end_ms}"


class Windowed(msgspec.Struct, Generic[K], frozen=True, order=True, gc=False):
    """A key together with a window: the key of a windowed result. Sorted by key, then window.

    Example:
        >>> counted = Windowed("alice", Window(0, 300_000))
        >>> counted.key, counted.window.start_ms
        ('alice', 0)
        >>> print(counted)
        [alice@0/300000]
    """

    key: K
    window: Window

    def __str__(self) -> str:
        return f"[{self.key}@{self.window}]"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
_LAST_MS = (_LAST_MOMENT - _EPOCH) // timedelta(milliseconds=1)


def _utc(timestamp_ms: int) -> datetime:
    return _LAST_MOMENT if timestamp_ms > _LAST_MS else _EPOCH + timedelta(milliseconds=timestamp_ms)


def sized_window(start_ms: int, size_ms: int) -> Window:
    """Returns the window of `size_ms` that starts at `start_ms`; it ends at 2^63-1 at the latest."""
    return Window(start_ms, later(start_ms, size_ms))


def last_start(time_ms: Time, advance_ms: int) -> Time:
    """Returns the last start at or before `time_ms` of windows that start every `advance_ms`, the first at 0."""
    return time_ms - time_ms % advance_ms


_NO_GRACE = timedelta(0)


@dataclass(frozen=True)
class TimeWindows(metaclass=SuggestingMeta):
    """Windows of a fixed size, aligned to the epoch: tumbling, or hopping if they advance by less than their size.

    A window has the records from its `start` to before `start + size`. It accepts records until stream time reaches its
    end plus the grace.

    Example:
        >>> from datetime import timedelta
        >>> minutes = TimeWindows.of(timedelta(minutes=1), advance=timedelta(seconds=30))
        >>> list(minutes.starts_for(70_000))
        [30000, 60000]
    """

    size_ms: int
    advance_ms: int
    grace_ms: int
    end_included: ClassVar[bool] = False

    @property
    def wait_ms(self) -> int:
        """How long after its end a window accepts late records: the grace period."""
        return self.grace_ms

    @classmethod
    def of(cls, size: timedelta, *, advance: timedelta | None = None, grace: timedelta = _NO_GRACE) -> TimeWindows:
        """Defines windows by their size.

        Args:
            size: length of a window.
            advance: time from the start of one window to the start of the next. Default: the size, so that windows do
                not overlap.
            grace: how long after its end, in stream time, a window accepts late records. Default: 0.

        Raises:
            TopologyError: unless `0 < advance <= size` and the grace is 0 or more.
        """
        size_ms = checked_duration(size, "TimeWindows.of(): size")
        advance_ms = size_ms if advance is None else checked_duration(advance, "TimeWindows.of(): advance")
        if advance_ms > size_ms:
            message = (
                f"TimeWindows.of(): advance is {advance}, more than the size {size}: records would be in no window."
            )
            raise TopologyError(message)
        return cls(size_ms, advance_ms, checked_duration(grace, "TimeWindows.of(): grace", at_least_ms=0))

    def starts_for(self, timestamp_ms: int) -> range:
        """Returns the starts of the windows that contain a timestamp, in ascending order."""
        first = last_start(max(0, timestamp_ms - self.size_ms + self.advance_ms), self.advance_ms)
        return range(first, timestamp_ms + 1, self.advance_ms)

    def windows_for(self, timestamp_ms: int) -> list[Window]:
        """Returns the windows that contain a timestamp, in ascending order of their start."""
        return [sized_window(start_ms, self.size_ms) for start_ms in self.starts_for(timestamp_ms)]


@dataclass(frozen=True)
class SlidingWindows(metaclass=SuggestingMeta):
    """Windows of a fixed length that follow the records: all records in a window are at most `difference` apart.

    A window is `[start, start + difference]`, both ends included. For each record of a key there is a window that ends
    at its timestamp, and one that starts 1 ms after it if that window has a record. Records with timestamps below the
    difference share the window `[0, difference]`, because no window starts before 0. A window accepts records until
    stream time is beyond its end plus the grace.

    Example:
        >>> from datetime import timedelta
        >>> SlidingWindows.of(timedelta(seconds=5), grace=timedelta(seconds=1))
        SlidingWindows(difference_ms=5000, grace_ms=1000)
    """

    difference_ms: int
    grace_ms: int
    end_included: ClassVar[bool] = True

    @property
    def wait_ms(self) -> int:
        """How long after its end a window accepts late records: the grace period."""
        return self.grace_ms

    @classmethod
    def of(cls, difference: timedelta, *, grace: timedelta = _NO_GRACE) -> SlidingWindows:
        """Defines windows by their length.

        Args:
            difference: how far apart the timestamps of two records in a window may be.
            grace: how long after its end, in stream time, a window accepts late records. Default: 0.

        Raises:
            TopologyError: unless the difference is a millisecond or more and the grace is 0 or more.
        """
        return cls(
            checked_duration(difference, "SlidingWindows.of(): difference"),
            checked_duration(grace, "SlidingWindows.of(): grace", at_least_ms=0),
        )


@dataclass(frozen=True)
class SessionWindows(metaclass=SuggestingMeta):
    """Windows of activity: records of a key that are at most the gap apart belong to the same session.

    A session is `[first timestamp, last timestamp]`, both included. A record that is close enough to two sessions
    merges them. A session accepts records until stream time is beyond its end plus the gap and the grace.

    Example:
        >>> from datetime import timedelta
        >>> SessionWindows.of(timedelta(minutes=5), grace=timedelta(minutes=1)).wait_ms
        360000
    """

    gap_ms: int
    grace_ms: int
    end_included: ClassVar[bool] = True

    @property
    def wait_ms(self) -> int:
        """How long after its end a session accepts late records: the gap plus the grace."""
        return self.gap_ms + self.grace_ms

    @classmethod
    def of(cls, gap: timedelta, *, grace: timedelta = _NO_GRACE) -> SessionWindows:
        """Defines sessions by the gap between them.

        Args:
            gap: how far apart two successive records of a session may be.
            grace: how long after the end of the gap, in stream time, a session accepts late records. Default: 0.

        Raises:
            TopologyError: unless the gap is a millisecond or more and the grace is 0 or more.
        """
        return cls(
            checked_duration(gap, "SessionWindows.of(): gap"),
            checked_duration(grace, "SessionWindows.of(): grace", at_least_ms=0),
        )


@dataclass(frozen=True)
class UnlimitedWindows(metaclass=SuggestingMeta):
    """One window per key, which starts at a fixed time and never closes. Earlier records are dropped and counted.

    Example:
        >>> forever = UnlimitedWindows.starting_at(100)
        >>> list(forever.starts_for(250)), list(forever.starts_for(99))
        ([100], [])
    """

    start_ms: int
    grace_ms: ClassVar[int] = 0
    wait_ms: ClassVar[int] = 0
    end_included: ClassVar[bool] = False

    @property
    def size_ms(self) -> int:
        """The length of the window, which includes the highest timestamp, 2^63-1."""
        return END_OF_TIME_MS + 1 - self.start_ms

    def starts_for(self, timestamp_ms: int) -> range:
        """Returns the start of the window if it contains the timestamp, else nothing."""
        return range(self.start_ms, min(timestamp_ms, self.start_ms) + 1)

    def windows_for(self, timestamp_ms: int) -> list[Window]:
        """Returns the window if it contains the timestamp, else an empty list."""
        return [sized_window(start_ms, self.size_ms) for start_ms in self.starts_for(timestamp_ms)]

    @classmethod
    def starting_at(cls, start_ms: int = 0) -> UnlimitedWindows:
        """Defines the window by its start, in epoch milliseconds. Raises a `TopologyError` for a negative start."""
        if not isinstance(start_ms, int) or not 0 <= start_ms <= END_OF_TIME_MS:
            message = (
                f"UnlimitedWindows.starting_at() was given {start_ms!r}; it must be epoch milliseconds, 0 to 2^63-1."
            )
            raise TopologyError(message)
        return cls(start_ms)


class Windows(ABC):
    """The base class of windows of your own, for `windowed_by`: which windows contain a timestamp.

    A subclass defines `size_ms` and `windows_for`, and may set `grace`. Windows may have different lengths and may
    overlap. They need not cover all times: a record that is in no window is dropped and counted. The end of a window
    does not belong to it. A window closes when stream time reaches its end plus the grace.

    `windows_for` must be a pure function: it returns the same windows for the same timestamp at every call, in every
    process and after every restart. Results are stored under the start of their window, and in topics the key of a
    result has only the start. So two windows must not have the same start, and `windows_for(window.start_ms)` must
    return the window, too. The object must be picklable. A frozen dataclass is a good choice: it also has a `repr`.

    Attributes:
        size_ms: the length of the longest window, in milliseconds. Results are stored for this long plus the grace.
        grace: how long after its end, in stream time, a window accepts late records. Default: 0.

    Example:
        >>> from dataclasses import dataclass
        >>> from datetime import timedelta
        >>> import headrace as hr
        >>> from headrace.testing import run_stream
        >>> @dataclass(frozen=True)
        ... class Shifts(hr.Windows):
        ...     size_ms = 8
        ...     grace = timedelta(milliseconds=2)
        ...     first_ms: int
        ...
        ...     def windows_for(self, timestamp_ms: int) -> list[hr.Window]:
        ...         start_ms = timestamp_ms - (timestamp_ms - self.first_ms) % 8
        ...         return [hr.Window(start_ms, start_ms + 8)] if start_ms >= 0 else []
        >>> def per_shift(stream):
        ...     return stream.group_by_key().windowed_by(Shifts(6)).count().to_stream()
        >>> counts = run_stream(per_shift, ("k", 1, 6), ("k", 1, 13), ("k", 1, 14))
        >>> [(str(record.key), record.value) for record in counts]
        [('[k@6/14]', 1), ('[k@6/14]', 2), ('[k@14/22]', 1)]
    """

    size_ms: int
    grace: timedelta = _NO_GRACE
    end_included: ClassVar[bool] = False

    @abstractmethod
    def windows_for(self, timestamp_ms: int) -> Iterable[Window]:
        """Returns the windows that contain a timestamp, or none. A record updates them in the order returned."""

    @property
    def wait_ms(self) -> int:
        """How long after its end a window accepts late records: the grace period."""
        return self.grace // timedelta(milliseconds=1)

    def window_from(self, start_ms: int) -> Window:
        """Returns the window with this start.

        Raises:
            StreamsError: if `windows_for(start_ms)` does not return such a window.
        """
        for window in self.windows_for(start_ms):
            if window.start_ms == start_ms:
                return window
        message = (
            f"{self!r}.windows_for({start_ms}) has no window that starts at {start_ms}, but an earlier call returned "
            "one. It must return the same windows at every call, and for the start of a window also that window."
        )
        raise StreamsError(message)


AnyWindows = TimeWindows | SlidingWindows | SessionWindows | UnlimitedWindows | Windows
