"""How many records of each topic-partition the next micro-batch reads.

A bounded batch takes a prefix of the one order of all records (smallest head timestamp first), so that results do not
depend on where the input is cut. Records of global tables come before all others, as Kafka Streams loads global tables
before it processes streams.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from headrace._core.task.order import Order, concatenated
from headrace.model.time.end_of_time import END_OF_TIME_MS
from headrace.topics.embedded.log import TopicLog

_FAR_MS = 1 << 43  # the year 2248: the bisection begins here, because few timestamps are later
_WELL_FILLED = 0.75
_MORE_THAN_A_SHARE = 1.25  # how many timestamps are read at first, for each record of an equal share of the batch

# Chooses how many records of each topic-partition to read, given the start offset and the number of available records
# of each, and a limit for all of them together.
Take = Callable[[Sequence[int], Sequence[int], int], list[int]]


def admitted(
    places: Sequence[tuple[str, int]],
    starts: Sequence[int],
    ends: Sequence[int],
    limit: int,
    take: Take,
    global_topics: Collection[str] = (),
) -> list[int]:
    """The end offsets of the next batch, one for each topic-partition. The batch reads at most `limit` records.

    If several topic-partitions together have more records, `take` chooses the first ones in the one order. Records of
    `global_topics` come first: other topics wait until all their available records are read.
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
    """Chooses the first records by reading timestamps.

    `latest_ms` gives the highest timestamp that a topic accepts; a later one does not advance the partition's time.
    """

    def take(starts: Sequence[int], available: Sequence[int], limit: int) -> list[int]:
        share = limit * _MORE_THAN_A_SHARE // sum(number > 0 for number in available) + 1
        wanted = [min(number, int(share)) for number in available]
        times = [np.empty(0, np.int64) for _ in places]
        while True:
            for rank, (place, start, number) in enumerate(zip(places, starts, wanted, strict=True)):
                read = len(times[rank])
                if number > read:
                    more = log.timestamps(*place, start + read, start + number)
                    times[rank] = np.concatenate([times[rank], more])
            chosen = _first(places, times, limit, latest_ms)
            # If all records read of a topic-partition are chosen, its next ones may come before chosen ones of others.
            undecided = [rank for rank, number in enumerate(chosen) if number == wanted[rank] < available[rank]]
            if not undecided:
                return chosen
            for rank in undecided:
                wanted[rank] = min(available[rank], 2 * wanted[rank])

    return take


def _first(
    places: Sequence[tuple[str, int]],
    times: Sequence[npt.NDArray[np.int64]],
    limit: int,
    latest_ms: Callable[[str], int | None],
) -> list[int]:
    """How many of the first `limit` records in the one order are of each topic-partition."""
    order = concatenated(
        [
            Order.of_partition(rank, 0, timestamps, latest_ms=latest_ms(topic))
            for rank, ((topic, _), timestamps) in enumerate(zip(places, times, strict=True))
        ]
    )
    # Stable: records with equal times stay in the order of topic-partition and offset.
    first = np.argsort(order.time_ms, kind="stable")[:limit]
    chosen: list[int] = np.bincount(order.source[first], minlength=len(places)).tolist()
    return chosen


def by_time_index(offsets_at: Callable[[int], Sequence[int]]) -> Take:
    """Chooses the first records without reading them, by a bisection over Kafka's time index.

    `offsets_at(time_ms)` gives for each topic-partition the first offset with that timestamp or a later one; -1 if it
    has none. All records before that offset have lower timestamps, so every time cuts off a prefix of the one order.
    The search ends at a time that fills the batch well. If a single millisecond has too many records for that, they are
    taken in the order of their topic-partitions.
    """

    def take(starts: Sequence[int], available: Sequence[int], limit: int) -> list[int]:
        low, high = 0, END_OF_TIME_MS + 1
        chosen, too_many = [0] * len(starts), list(available)
        while high - low > 1 and sum(chosen) < limit * _WELL_FILLED:
            middle = _FAR_MS if low < _FAR_MS < high else (low + high) // 2
            before = [
                number if at < 0 else min(max(0, at - start), number)
                for at, start, number in zip(offsets_at(middle), starts, available, strict=True)
            ]
            if sum(before) <= limit:
                low, chosen = middle, before
            else:
                high, too_many = middle, before
        if sum(chosen) >= limit * _WELL_FILLED:
            return chosen
        for rank, most in enumerate(too_many):
            chosen[rank] += min(most - chosen[rank], limit - sum(chosen))
        return chosen

    return take
