"""A test driver with several partitions writes what Spark writes, to the same partitions."""

from __future__ import annotations

from collections import defaultdict

import pytest

import headrace as hr
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import SparkRuntime
from tests.support.topologies import word_letters

LINES = ["ant ape bee", "cat cow dog deer", "bee bee", "ape cow and a long line", "dog", "deer deer cat ant"]
INPUTS = [("lines", key, line, 10 * at) for at, (key, line) in enumerate(zip("kmnopq" * 2, LINES * 2, strict=True))]


@pytest.mark.spark
@pytest.mark.slow
def test_driver_and_spark_write_the_same_records_to_the_same_partitions(spark, tmp_path):
    topology = word_letters()
    found, _ = SparkRuntime(spark, tmp_path, partitions=3).run(topology, INPUTS)
    with TopologyTestDriver(topology, hr.StreamsConfig(application_id="test"), partitions=3) as driver:
        for topic, *record in INPUTS:
            driver.input_topic(topic).pipe(*record)
        expected = {topic: by_partition(driver.output_topic(topic)) for topic in found}
    assert {topic: by_partition(records) for topic, records in found.items()} == expected
    assert all(len(partitions) > 1 for partitions in expected.values())


def by_partition(records):
    result = defaultdict(list)
    for record in records:
        result[record.partition].append(record)
    return result
