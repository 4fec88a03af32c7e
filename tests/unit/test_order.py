"""Sorting by position equals Kafka Streams' merge, which always takes the queue with the smallest head."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace._core.task.order import Order, concatenated, sorted_rows

QUEUES = st.lists(st.lists(st.integers(0, 12), max_size=8), min_size=1, max_size=4)


def merged_by_heads(queues):
    waiting = [list(enumerate(queue)) for queue in queues]
    merged = []
    while any(waiting):
        index = min((q for q in range(len(waiting)) if waiting[q]), key=lambda q: (waiting[q][0][1], q))
        merged.append((index, waiting[index].pop(0)[0]))
    return merged


def by_position(queues, starts=None):
    starts = starts or [0] * len(queues)
    order = concatenated(
        [
            Order.of_partition(source, start, np.array(queue[start:], np.int64))
            for source, (queue, start) in enumerate(zip(queues, starts, strict=True))
        ]
    )
    rows = sorted_rows(order)
    order = order if rows is None else order.take(rows)
    return list(zip(order.source.tolist(), order.offset.tolist(), strict=True))


@given(QUEUES)
def test_sorting_by_position_equals_the_merge_by_smallest_head(queues):
    assert by_position(queues) == merged_by_heads(queues)


@given(QUEUES, st.integers(0, 30))
def test_rows_left_after_a_prefix_are_merged_in_the_same_order(queues, cut):
    whole = merged_by_heads(queues)
    starts = [sum(source == q for source, _ in whole[:cut]) for q in range(len(queues))]
    assert by_position(queues, starts) == whole[cut:]
