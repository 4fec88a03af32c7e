"""How much of the input goes into the next micro-batch.

A bounded batch takes a prefix of the one order of all records (smallest head timestamp first), so that results do not
depend on where the input is cut. What is there of global tables comes before all that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from headrace._core.order import Order, concatenated
from headrace.topics.log import TopicLog


def admitted(
    log: TopicLog,
    places: Sequence[tuple[str, int]],
    starts: Sequence[int],
    ends: Sequence[int],
    limit: int,
    latest_ms: Callable[[str], int | None] = lambda _: None,
    global_topics: Collection[str] = (),
) -> list[int]:
    """End offsets of the next batch, one per topic-partition; `latest_ms` says beyond what a topic's are refused.

    Global topics come first: others wait until all that is there of them is taken.
    """
    available = [max(0, end - start) for start, end in zip(starts, ends, strict=True)]
    tables = [number if topic in global_topics else 0 for (topic, _), number in zip(places, available, strict=True)]
    others = [number - table for number, table in zip(available, tables, strict=True)]
    chosen = _prefix(log, places, starts, tables, limit, latest_ms)
    if chosen == tables:
        rest = _prefix(log, places, starts, others, limit - sum(tables), latest_ms)
        chosen = [table + number for table, number in zip(tables, rest, strict=True)]
    return [start + number for start, number in zip(starts, chosen, strict=True)]


def _prefix(
    log: TopicLog,
    places: Sequence[tuple[str, int]],
    starts: Sequence[int],
    available: Sequence[int],
    limit: int,
    latest_ms: Callable[[str], int | None],
) -> list[int]:
    """How many records of each topic-partition are among the first of all."""
    if sum(available) <= limit:
        return list(available)
    candidates = [min(number, limit) for number in available]
    if sum(number > 0 for number in candidates) > 1:
        return _first_in_order(log, places, starts, candidates, limit, latest_ms)
    return candidates


def _first_in_order(
    log: TopicLog,
    places: Sequence[tuple[str, int]],
    starts: Sequence[int],
    candidates: Sequence[int],
    limit: int,
    latest_ms: Callable[[str], int | None],
) -> list[int]:
    order = concatenated(
        [
            Order.of_partition(
                rank, start, log.timestamps(*place, start, start + number), latest_ms=latest_ms(place[0])
            )
            for rank, (place, start, number) in enumerate(zip(places, starts, candidates, strict=True))
            if number
        ]
    )
    first = np.lexsort((order.offset, order.source, order.time_ms))[:limit]
    chosen: list[int] = np.bincount(order.source[first], minlength=len(places)).tolist()
    return chosen
