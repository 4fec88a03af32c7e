"""Tasks land where we think they land: our hash is Spark's."""

from __future__ import annotations

from collections import Counter

import pytest

from headrace._runtime.spark.planning.routing import routes, spark_hash

pytestmark = pytest.mark.spark


def test_hash_of_whole_numbers_is_sparks(spark):
    numbers = [*range(300), -1, 2**31 - 1, -(2**31)]
    rows = spark.createDataFrame([(n,) for n in numbers], "n int").selectExpr("n", "hash(n) as h").collect()
    assert {row.n: row.h for row in rows} == {n: spark_hash(n) for n in numbers}


@pytest.mark.parametrize(("tasks", "partitions"), [(1, 1), (4, 2), (5, 3), (2, 4), (12, 5)])
def test_tasks_are_dealt_evenly_and_never_share_a_key_with_passing_frames(tasks, partitions):
    task_routes, passing = routes(tasks, partitions)
    assert len({*task_routes, *passing}) == tasks + partitions
    assert sorted(spark_hash(route) % partitions for route in passing) == list(range(partitions))
    load = Counter(spark_hash(route) % partitions for route in task_routes)
    assert max(load.values()) - min(load.get(p, 0) for p in range(partitions)) <= 1
