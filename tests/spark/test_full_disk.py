"""A full disk under a running application: a clear error, and the next start continues."""

from __future__ import annotations

import re

import pytest

import headrace as hr
from tests.support.runtimes import SparkRuntime
from tests.support.small_disk import fill, free, small_disk
from tests.support.topologies import word_letters

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("name", "leave"), [("state", 0), ("state", 8192), ("local", 0), ("topics", 0)])
def test_full_disk_is_named_and_the_next_start_continues(spark, tmp_path, name, leave):
    with small_disk(tmp_path / "disk") as disk:
        runtime, topology = SparkRuntime(spark, tmp_path), word_letters()
        config = runtime.config(**{f"{name}_dir": disk / name})
        runtime.topics = hr.LocalTopics(config.topics_dir)
        runtime.produce(topology, [("lines", "k", "ant bee", 0)])
        hr.Streams(topology, config, spark=spark).process_available()
        runtime.produce(topology, [("lines", "k", "ant " + "x" * 40_000, 1)])
        fill(disk, leave=leave)
        with pytest.raises(hr.StreamsError, match=f"{re.escape(str(disk / name))}.*disk mounted at '{disk}' is full"):
            hr.Streams(topology, config, spark=spark).process_available()
        free(disk)
        hr.Streams(topology, config, spark=spark).process_available()
        counts = [(r.key[:4], r.value) for r in runtime.outputs(topology)["word-counts"]]
        assert counts == [("ant", 1), ("bee", 1), ("ant", 2), ("xxxx", 1)]
