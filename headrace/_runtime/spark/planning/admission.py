"""How much of the input goes into the next micro-batch.

A bounded batch takes a prefix of the one order of all records (smallest head timestamp first), so that results do not
depend on where the input is cut. What is there of global tables comes before all that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from headrace._core.task.order import Order, concatenated
from headrace.topics.embedded.log import TopicLog

_BEYOND_MS = 1 << 43  # the year 2248
_WELL_FILLED = 0.75

Take = Callable[[Sequence[int], Sequence[int], int], list[int]]


def admitted(
    places: Sequence[tuple[str, int]],
    starts: Sequence[int],
    ends: Sequence[int],
    limit: int,
    take: Take,
    global_topics: Collection[str] = (),
) -> list[int]:
    """End offsets of the next batch, one per topic-partition.

    `take(starts, available, limit)` says how many offsets of each are among the first of all, if there are more than
    the limit in several. Global topics come first: others wait until all that is there of them is taken.
    """
    available = [max(0, end - start) for start, end in zip(starts, ends, strict=True)]
    tables = [number if topic in global_topics else 0 for (topic, _), number in zip(places, available, strict=True)]
    others = [number - table for number, table in zip(available, tables, strict=True)]
    chosen = _prefix(starts, tables, limit, take)
    if chosen == tables:
        rest = _prefix(starts, others, limit - sum(tables), take)
        chosen = [table + number for table, number in zip(tables, rest, strict=True)]
    return [start + number for start, number in zip(starts, chosen, strict=True)]


def _prefix(starts: Sequence[int], available: Sequence[int], limit: int, take: Take) -> list[int]:
    if sum(available) <= limit:
        return list(available)
    candidates = [min(number, limit) for number in available]
    return take(starts, candidates, limit) if sum(number > 0 for number in candidates) > 1 else candidates


def by_timestamps(
    log: TopicLog, places: Sequence[tuple[str, int]], latest_ms: Callable[[str], int | None] = lambda _: None
) -> Take:
    """The first of all by the timestamps of the records; `latest_ms` says beyond what a topic's are refused."""

    def take(starts: Sequence[int], available: Sequence[int], limit: int) -> list[int]:
        order = concatenated(
            [
                Order.of_partition(
                    rank, start, log.timestamps(*place, start, start + number), latest_ms=latest_ms(place[0])
                )
                for rank, (place, start, number) in enumerate(zip(places, starts, available, strict=True))
                if number
            ]
        )
        first = np.lexsort((order.offset, order.source, order.time_ms))[:limit]
        chosen: list[int] = np.bincount(order.source[first], minlength=len(places)).tolist()
        return chosen

    return take


def by_time_index(offsets_at: Callable[[int], Sequence[int]]) -> Take:
    """The first of all without reading any, by asking where records of a time or later begin; -1: there are none.

    What lies before has lower timestamps, so that a time cuts a prefix of the one order: the search ends at one that
    fills a batch well, or takes those of one time in the order of their topic-partitions.
    """

    def take(starts: Sequence[int], available: Sequence[int], limit: int) -> list[int]:
        low, high = 0, _BEYOND_MS
        chosen, beyond = [0] * len(starts), list(available)
        while high - low > 1 and sum(chosen) < limit * _WELL_FILLED:
            middle = (low + high) // 2
            found = [
                number if at < 0 else min(max(0, at - start), number)
                for at, start, number in zip(offsets_at(middle), starts, available, strict=True)
            ]
            if sum(found) <= limit:
                low, chosen = middle, found
            else:
                high, beyond = middle, found
        if sum(chosen) >= limit * _WELL_FILLED:
            return chosen
        for rank, most in enumerate(beyond):
            chosen[rank] += min(most - chosen[rank], limit - sum(chosen))
        return chosen

    return take
