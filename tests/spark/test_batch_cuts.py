"""Output topics on Spark do not depend on where the input is cut into batches."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from tests.property.test_batch_cuts import RECORDS, fill
from tests.support.runtimes import SparkRuntime
from tests.support.topologies import word_letters

pytestmark = pytest.mark.spark


def run(spark, records, limit):
    with tempfile.TemporaryDirectory() as name:
        runtime = SparkRuntime(spark, Path(name))
        fill(runtime.directory, records)
        hr.Streams(word_letters(), runtime.config(max_records_per_batch=limit), spark=spark).process_available()
        return {
            topic: [(r.partition, r.key, r.value, r.timestamp_ms) for r in found]
            for topic, found in runtime.outputs(word_letters()).items()
        }


@pytest.mark.slow
@settings(max_examples=5)
@given(records=RECORDS, limit=st.integers(1, 9))
def test_output_topics_do_not_depend_on_batch_limits(spark, records, limit):
    assert run(spark, records, limit) == run(spark, records, 10_000)
