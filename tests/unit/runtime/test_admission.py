"""How many records the next batch reads: a prefix of the one order, found by Kafka's time index or by timestamps."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace._runtime.spark.planning.admission import admitted, by_time_index, by_timestamps

TIMES = st.integers(1, 60) | st.sampled_from([1 << 43, (1 << 43) + 1, 1 << 62, (1 << 63) - 2, (1 << 63) - 1])
QUEUES = st.lists(st.lists(TIMES, max_size=12), min_size=1, max_size=4)


def index_of(queues):
    """Kafka's time index: the first offset with that timestamp or a later one."""

    def offsets_at(time_ms):
        return [next((i for i, t in enumerate(queue) if t >= time_ms), -1) for queue in queues]

    return offsets_at


def admit(queues, starts, limit, global_topics=()):
    places = [(f"t{rank}", 0) for rank in range(len(queues))]
    return admitted(places, starts, list(map(len, queues)), limit, by_time_index(index_of(queues)), global_topics)


def batch_sizes(queues, limit, admit):
    """The sizes of batches until all is read; checks that each batch continues a prefix of the one order."""
    order = sorted(
        (time_ms, rank, offset)
        for rank, queue in enumerate(queues)
        for offset, time_ms in enumerate(accumulate(queue, max))
    )
    starts = [0] * len(queues)
    while starts != list(map(len, queues)):
        ends = admit(queues, starts, limit)
        admitted_so_far = {(rank, offset) for rank, end in enumerate(ends) for offset in range(end)}
        assert {(rank, offset) for _, rank, offset in order[: len(admitted_so_far)]} == admitted_so_far
        yield sum(ends) - sum(starts)
        starts = ends


@given(QUEUES, st.integers(1, 20))
def test_batches_chosen_by_the_time_index_are_prefixes_of_the_one_order_and_read_everything(queues, limit):
    assert all(0 < size <= limit for size in batch_sizes(queues, limit, admit))


def test_batch_that_is_well_filled_ends_between_two_timestamps():
    assert admit([[1, 2, 3, 4, 9], [1, 2, 3, 9, 9]], [0, 0], 8) == [4, 3]


def test_records_with_equal_timestamps_are_admitted_in_the_order_of_their_partitions():
    assert admit([[5, 5, 5], [5, 5, 5]], [0, 0], 4) == [3, 1]
    assert admit([[5, 5, 5], [5, 5, 5]], [3, 1], 4) == [3, 3]


def test_global_topics_come_first():
    assert admit([[1, 1], [7, 8, 9]], [0, 0], 3, global_topics={"t1"}) == [0, 3]
    assert admit([[1, 1], [7, 8, 9]], [0, 0], 4, global_topics={"t1"}) == [1, 3]


class Timestamps:
    """A log with these timestamps in each topic; counts how many are read."""

    def __init__(self, queues):
        self._queues = {f"t{rank}": queue for rank, queue in enumerate(queues)}
        self.read = 0

    def timestamps(self, topic, partition, start, end):
        assert partition == 0
        assert start < end
        self.read += end - start
        return np.array(self._queues[topic][start:end])


def admit_by_timestamps(queues, starts, limit):
    places = [(f"t{rank}", 0) for rank in range(len(queues))]
    log = Timestamps(queues)
    return admitted(places, starts, list(map(len, queues)), limit, by_timestamps(log, places)), log.read


@given(QUEUES, st.integers(1, 20))
def test_batches_chosen_by_timestamps_are_full_prefixes_of_the_one_order(queues, limit):
    *full, last = [*batch_sizes(queues, limit, lambda *given: admit_by_timestamps(*given)[0])] or [limit]
    assert full == [limit] * len(full)
    assert 0 < last <= limit


def test_not_many_more_timestamps_are_read_than_a_batch_has_records():
    even = [list(range(10_000)) for _ in range(4)]
    assert admit_by_timestamps(even, [0] * 4, 1_000) == ([250] * 4, 4 * 313)
    first_is_behind = [[1] * 10_000, *([2] * 10_000 for _ in range(3))]
    assert admit_by_timestamps(first_is_behind, [0] * 4, 1_000) == ([1_000, 0, 0, 0], 1_000 + 626 + 626 + 313)
