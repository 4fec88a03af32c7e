"""Where an application begins to read a topic for which it has no committed offset yet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from headrace._suggestions.attributes import SuggestingMeta
from headrace.errors import StreamsError, TopologyError

_NAMES = ("earliest", "latest", "none")
_ALLOWED = "'earliest', 'latest', 'none', or AutoOffsetReset.by_duration(timedelta(...))"
# Kafka's own form of a duration in `auto.offset.reset`, e.g. by_duration:P3DT6H.
_BY_DURATION = re.compile(
    r"by_duration:P(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


@dataclass(frozen=True)
class AutoOffsetReset(metaclass=SuggestingMeta):
    """Where an application begins in a topic that it has not read before; for sources and for `StreamsConfig`.

    It applies only once: the first start that reads the topic stores the offset where it begins. Partitions that are
    added to a topic later, and topics that match a pattern later, are always read from their beginning, so that none of
    their records is missed.

    Example:
        >>> from datetime import timedelta
        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> clicks = builder.stream("clicks", offset_reset=AutoOffsetReset.by_duration(timedelta(days=1)))
        >>> users = builder.table("users", offset_reset="earliest")
    """

    strategy: Literal["earliest", "latest", "none", "by_duration"]
    duration: timedelta | None = None

    @classmethod
    def earliest(cls) -> AutoOffsetReset:
        """Begins with the first record that the topic still has."""
        return cls("earliest")

    @classmethod
    def latest(cls) -> AutoOffsetReset:
        """Begins at the end of the topic: reads only records that are written after the first start."""
        return cls("latest")

    @classmethod
    def none(cls) -> AutoOffsetReset:
        """Fails at the start if the application has no stored offset for the topic, e.g. because its state was lost."""
        return cls("none")

    @classmethod
    def by_duration(cls, duration: timedelta) -> AutoOffsetReset:
        """Begins with the first record whose timestamp is at most `duration` before the first start.

        Without such a record it begins at the end of the topic. As with Kafka, later records are read even if their
        timestamps are older.

        Raises:
            TopologyError: if the duration is negative or not a `timedelta`.
        """
        if not isinstance(duration, timedelta) or duration < timedelta(0):
            message = (
                f"AutoOffsetReset.by_duration() was given {duration!r}; it needs a timedelta of 0 or more, e.g. "
                "timedelta(hours=6)."
            )
            raise TopologyError(message)
        return cls("by_duration", duration)

    @property
    def duration_ms(self) -> int:
        return (self.duration or timedelta(0)) // timedelta(milliseconds=1)

    def __str__(self) -> str:
        return self.strategy if self.duration is None else f"{self.strategy}({self.duration})"


OffsetReset = AutoOffsetReset | Literal["earliest", "latest", "none"]
"""An `AutoOffsetReset`, or the text "earliest", "latest" or "none"."""


def offset_reset_of(given: object, subject: str, error: type[StreamsError]) -> AutoOffsetReset:
    """Returns an offset reset given as an object or as text; Kafka's text `by_duration:P3DT6H` is also allowed.

    For anything else it raises `error`, with a message that begins with `subject`.
    """
    if isinstance(given, AutoOffsetReset):
        return given
    if isinstance(given, str):
        if given in _NAMES:
            return AutoOffsetReset(given)  # type: ignore[arg-type]
        parts = _BY_DURATION.fullmatch(given)
        if parts is not None and any(parts.groupdict().values()):
            lengths = {unit: float(number) for unit, number in parts.groupdict().items() if number is not None}
            try:
                return AutoOffsetReset.by_duration(timedelta(**lengths))
            except OverflowError as cause:
                message = (
                    f"{subject} is {given!r}; the duration is too long: at most {timedelta.max.days} days are allowed."
                )
                raise error(message) from cause
    message = f"{subject} is {given!r}; allowed: {_ALLOWED}."
    raise error(message)
