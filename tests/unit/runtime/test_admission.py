"""How many records the next batch reads: a prefix of the one order, found by Kafka's time index."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from headrace._runtime.spark.planning.admission import admitted, by_time_index

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


@given(QUEUES, st.integers(1, 20))
def test_batches_chosen_by_the_time_index_are_prefixes_of_the_one_order_and_read_everything(queues, limit):
    order = sorted(
        (time_ms, rank, offset)
        for rank, queue in enumerate(queues)
        for offset, time_ms in enumerate(accumulate(queue, max))
    )
    starts = [0] * len(queues)
    while starts != list(map(len, queues)):
        ends = admit(queues, starts, limit)
        assert 0 < sum(ends) - sum(starts) <= limit
        admitted_so_far = {(rank, offset) for rank, end in enumerate(ends) for offset in range(end)}
        assert {(rank, offset) for _, rank, offset in order[: len(admitted_so_far)]} == admitted_so_far
        starts = ends


def test_batch_that_is_well_filled_ends_between_two_timestamps():
    assert admit([[1, 2, 3, 4, 9], [1, 2, 3, 9, 9]], [0, 0], 8) == [4, 3]


def test_records_with_equal_timestamps_are_admitted_in_the_order_of_their_partitions():
    assert admit([[5, 5, 5], [5, 5, 5]], [0, 0], 4) == [3, 1]
    assert admit([[5, 5, 5], [5, 5, 5]], [3, 1], 4) == [3, 3]


def test_global_topics_come_first():
    assert admit([[1, 1], [7, 8, 9]], [0, 0], 3, global_topics={"t1"}) == [0, 3]
    assert admit([[1, 1], [7, 8, 9]], [0, 0], 4, global_topics={"t1"}) == [1, 3]
