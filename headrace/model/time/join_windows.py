"""How far apart the timestamps of two joined records may be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace._suggestions.attributes import SuggestingMeta
from headrace.errors import TopologyError
from headrace.model.arguments import checked_duration

_NO_GRACE = timedelta(0)


@dataclass(frozen=True)
class JoinWindows(metaclass=SuggestingMeta):
    """How far apart the timestamps of two matching records of a stream-stream join may be.

    A record of the left stream at `t` matches the records of the right stream from `t - before` to `t + after`, both
    included. The window of the left record closes when stream time is beyond `t + after + grace`. A left or outer join
    then emits the record if it is unmatched. For a record of the right stream, `before` and `after` are swapped.

    Example:
        >>> from datetime import timedelta
        >>> JoinWindows.of(timedelta(minutes=5), before=timedelta(0), grace=timedelta(minutes=1))
        JoinWindows(before_ms=0, after_ms=300000, grace_ms=60000)
    """

    before_ms: int
    after_ms: int
    grace_ms: int

    @classmethod
    def of(
        cls,
        difference: timedelta,
        *,
        before: timedelta | None = None,
        after: timedelta | None = None,
        grace: timedelta = _NO_GRACE,
    ) -> JoinWindows:
        """Defines the window by the greatest difference of two timestamps.

        Args:
            difference: how far apart the timestamps of matching records may be.
            before: how much earlier than the left record the right one may be; may be negative. Default: `difference`.
            after: how much later than the left record the right one may be; may be negative. Default: `difference`.
            grace: how long after the end of the window, in stream time, late records are accepted. Default: 0.

        Raises:
            TopologyError: if `before + after`, the difference or the grace is negative.
        """
        difference_ms = checked_duration(difference, "JoinWindows.of(): difference", at_least_ms=0)
        before_ms, after_ms = (
            difference_ms if bound is None else checked_duration(bound, f"JoinWindows.of(): {side}", at_least_ms=None)
            for side, bound in (("before", before), ("after", after))
        )
        if before_ms + after_ms < 0:
            message = (
                f"JoinWindows.of(): before is {before_ms} ms, after is {after_ms} ms: the window would end before it "
                "starts. before + after must be 0 or more."
            )
            raise TopologyError(message)
        return cls(before_ms, after_ms, checked_duration(grace, "JoinWindows.of(): grace", at_least_ms=0))
