"""Routes: our hash equals Spark's, so every task runs in the Spark partition that we chose for it."""

from __future__ import annotations

from collections import Counter

import pytest

from headrace._runtime.spark.planning.routing import choose_routes, spark_hash

pytestmark = pytest.mark.spark


def test_hash_of_integers_equals_sparks(spark):
    numbers = [*range(300), -1, 2**31 - 1, -(2**31)]
    rows = spark.createDataFrame([(n,) for n in numbers], "n int").selectExpr("n", "hash(n) as h").collect()
    assert {row.n: row.h for row in rows} == {n: spark_hash(n) for n in numbers}


@pytest.mark.parametrize(("tasks", "partitions"), [(1, 1), (4, 2), (5, 3), (2, 4), (12, 5)])
def test_tasks_are_spread_evenly_and_never_share_a_key_with_frames_that_pass_through(tasks, partitions):
    task_routes, passing = choose_routes(tasks, partitions)
    assert len({*task_routes, *passing}) == tasks + partitions
    assert sorted(spark_hash(route) % partitions for route in passing) == list(range(partitions))
    load = Counter(spark_hash(route) % partitions for route in task_routes)
    assert max(load.values()) - min(load.get(p, 0) for p in range(partitions)) <= 1
