"""A test driver with several partitions: where records go, which tasks exist, what is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace._core.partitioning import partition_for
from headrace.testing import TopologyTestDriver
from tests.support.topologies import Boundaries

KEYS = "abcdefgh"


def counting():
    builder = hr.StreamsBuilder()
    counts = builder.stream("in").group_by(lambda key, value: value).count(store="counts")
    counts.to_stream().to("out")
    return builder.build()


def test_records_go_to_the_partition_of_their_key_in_every_topic():
    with TopologyTestDriver(counting(), partitions=3) as driver:
        for key in KEYS:
            driver.input_topic("in").pipe("k", key, 1)
        found = {record.key: record.partition for record in driver.output_topic("out")}
        assert found == {key: partition_for(key.encode(), 3) for key in KEYS}
        assert set(found.values()) == {0, 1, 2}
        for partition in range(3):
            here = driver.store("counts", partition=partition)
            assert [key for key, _ in here.all()] == [key for key in KEYS if found[key] == partition]
        assert [key for key, _ in driver.store("counts").all()] == list(KEYS)


def test_a_written_row_is_found_by_the_task_of_its_key():
    with TopologyTestDriver(counting(), partitions={"in": 4}) as driver:
        for key in KEYS:
            driver.store("counts").put(key, 10, 1)
            driver.input_topic("in").pipe(None, key, 1)
        assert driver.output_topic("out").read_key_values_as_dict() == dict.fromkeys(KEYS, 11)


def test_topic_that_a_function_chose_has_as_many_partitions_as_the_largest_stage_that_chooses():
    builder = hr.StreamsBuilder()
    builder.stream("small").to(lambda key, value, context: "chosen")
    builder.stream("large").group_by_key().count(store="counts").to_stream().to("counted")
    with TopologyTestDriver(builder.build(), partitions={"small": 2, "large": 6}) as driver:
        for key in KEYS:
            driver.input_topic("small").pipe(key, 1, 1)
        found = {record.key: record.partition for record in driver.output_topic("chosen")}
        assert found == {key: partition_for(key.encode(), 2) for key in KEYS}


def test_records_without_a_key_go_to_the_partitions_in_turn():
    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), partitions={"in": 2, "out": 5}) as driver:
        driver.input_topic("in").pipe_values("xyz")
        driver.input_topic("in").pipe(None, "u", 1, partition=1)
        assert [(r.value, r.partition) for r in driver.output_topic("out")] == [("x", 0), ("y", 1), ("z", 0), ("u", 1)]


def test_all_tasks_with_processors_exist_from_the_start():
    class Ticking(hr.Processor):
        def init(self, context):
            super().init(context)
            context.schedule(timedelta(milliseconds=5), hr.PunctuationType.WALL_CLOCK_TIME, self.tick)

        def process(self, record):
            pass

        def tick(self, timestamp_ms):
            self.context.forward(hr.Record(self.context.task_id, timestamp_ms))

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Ticking).to("out")
    with TopologyTestDriver(builder.build(), partitions=3) as driver:
        driver.advance_wall_clock(timedelta(milliseconds=5))
        driver.restart()
        driver.advance_wall_clock(timedelta(milliseconds=5))
        assert driver.output_topic("out").read_key_values() == [(f"0_{p}", at) for at in (5, 10) for p in range(3)]


def test_without_a_number_repartitions_have_one_partition_and_any_partition_can_be_piped():
    builder = hr.StreamsBuilder()
    builder.stream("in").repartition("again", partitions=3).process(Boundaries).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for partition, key in enumerate(KEYS):
            driver.input_topic("in").pipe(key, "v", 1, partition=partition)
        assert {key for key, _ in driver.output_topic("out").read_key_values()} == {"1_0"}


def test_output_that_is_input_again_stays_in_its_partition():
    builder = hr.StreamsBuilder()
    builder.stream("in").to("between")
    builder.stream("between").process(Boundaries).filter(lambda key, value: value != "tick").to("out")
    with TopologyTestDriver(builder.build(), partitions={"in": 1, "between": 4}) as driver:
        for key in KEYS:
            driver.input_topic("in").pipe(key, key, 1)
        found = {value: key for key, value in driver.output_topic("out").read_key_values()}
    assert found == {key: f"1_{partition_for(key.encode(), 4)}" for key in KEYS}


def test_partitions_that_topics_cannot_have_are_refused():
    with pytest.raises(hr.TopicError, match="Topic 'in' cannot have 0 partitions"):
        TopologyTestDriver(counting(), partitions=0)
    with pytest.raises(hr.TopicError, match=r"neither reads nor writes.* Did you mean 'in'\? It has: 'in', 'out'"):
        TopologyTestDriver(counting(), partitions={"inn": 2})
    two = pytest.raises(hr.TopicError, match="Topic 'in' has no partition 2; it has 2")
    with TopologyTestDriver(counting(), partitions=2) as driver, two:
        driver.input_topic("in").pipe("a", 1, 1, partition=2)
    builder = hr.StreamsBuilder()
    builder.stream("left").join(builder.table("right"), lambda left, right: left).to("out")
    with pytest.raises(hr.TopicError, match=r"join\(\) needs topics with the same number of partitions"):
        TopologyTestDriver(builder.build(), partitions={"left": 2, "right": 3})
