"""How much of the input goes into the next micro-batch.

A bounded batch takes a prefix of the one order of all records (smallest head timestamp first), so that results do not
depend on where the input is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
) -> list[int]:
    """End offsets of the next batch, one per topic-partition; `latest_ms` says beyond what a topic's are refused."""
    available = [max(0, end - start) for start, end in zip(starts, ends, strict=True)]
    if sum(available) <= limit:
        return [start + number for start, number in zip(starts, available, strict=True)]
    candidates = [min(number, limit) for number in available]
    if sum(number > 0 for number in available) > 1:
        candidates = _first_in_order(log, places, starts, candidates, limit, latest_ms)
    return [start + number for start, number in zip(starts, candidates, strict=True)]


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
