"""count, reduce and aggregate on grouped streams: results carry the highest timestamp folded in (KIP-259)."""

from __future__ import annotations

from headrace import Record, StreamsBuilder, serdes


def test_a_count_has_the_highest_timestamp_so_far(runtime):
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count().to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "v", t) for t in (1, 2, 5, 6, 4, 3, 7, 9)])
    assert outputs["out"] == [
        Record("k", count, timestamp_ms) for count, timestamp_ms in enumerate([1, 2, 5, 6, 6, 6, 7, 9], start=1)
    ]


def test_deleted_aggregate_starts_again_at_the_next_records_own_timestamp(runtime):
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().aggregate(
        str, lambda key, value, aggregate: None if value == "del" else aggregate + value
    ).to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "a", 10), ("in", "k", "del", 5), ("in", "k", "b", 3)])
    assert outputs["out"] == [Record("k", "a", 10), Record("k", None, 10), Record("k", "b", 3)]


def test_reduce_starts_from_the_first_value_and_results_have_the_triggering_headers(runtime):
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().reduce(lambda total, value: total + value, store="sums").to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", 1, 5), ("in", "j", 7, 6), ("in", "k", 2, 4, (("h", b"x"),))])
    assert outputs["out"] == [Record("k", 1, 5), Record("j", 7, 6), Record("k", 3, 5, (("h", b"x"),))]


def test_records_without_key_or_value_are_dropped_and_counted(runtime):
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count(name="counter").to_stream().to("out")
    outputs, metrics = runtime.run(
        builder.build(), [("in", None, "x", 1), ("in", "k", None, 2), ("in", "k", "x", 3), ("in", None, "y", 4)]
    )
    assert outputs["out"] == [Record("k", 1, 3)]
    assert metrics["counter"] == {"dropped": {"null key": 2, "null value": 1}}


def test_repartition_drops_and_counts_null_keys(runtime):
    builder = StreamsBuilder()
    builder.stream("in").select_key(lambda key, value: value).repartition("again").to("out")
    outputs, metrics = runtime.run(builder.build(), [("in", "k", "a", 1), ("in", "k", None, 2)])
    assert outputs["out"] == [Record("a", "a", 1)]
    assert metrics["again-repartition-filter"] == {"dropped": {"null key": 1}}


def test_aggregate_changed_in_place_does_not_leak_into_earlier_results(runtime):
    def add(key, value, seen):
        seen.append(value)
        return seen

    builder = StreamsBuilder()
    builder.stream("in").group_by_key().aggregate(list, add).to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", n, n) for n in range(3)])
    assert outputs["out"] == [Record("k", [0], 0), Record("k", [0, 1], 1), Record("k", [0, 1, 2], 2)]


def test_count_of_counts_repartitions_twice_in_a_row(runtime):
    builder = StreamsBuilder()
    (
        builder.stream("in")
        .group_by(lambda key, value: value, key_serde=serdes.String())
        .count(store="per-value")
        .to_stream()
        .group_by(lambda value, count: count, key_serde=serdes.Long())
        .count(store="per-count")
        .to_stream()
        .to("out")
    )
    outputs, _ = runtime.run(builder.build(), [("in", "k", v, t) for t, v in enumerate("aabab")])
    assert outputs["out"] == [
        Record(1, 1, 0),
        Record(2, 1, 1),
        Record(1, 2, 2),
        Record(3, 1, 3),
        Record(2, 2, 4),
    ]


def test_topic_that_is_written_and_read_again_is_processed_in_the_same_call(runtime):
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: value + 1).to("middle")
    builder.stream("middle").filter(lambda key, value: value < 3).map_values(lambda value: value + 1).to("middle")
    outputs, _ = runtime.run(builder.build(), [("in", "k", 0, 5)])
    assert outputs["middle"] == [Record("k", 1, 5), Record("k", 2, 5), Record("k", 3, 5)]


def test_a_timestamp_extractor_receives_the_partition_time(runtime):
    seen = []

    def extract(record, partition_time_ms):
        seen.append(partition_time_ms)
        return record.value

    builder = StreamsBuilder()
    builder.stream("in", timestamp_extractor=extract, name="read").to("out")
    outputs, metrics = runtime.run(builder.build(), [("in", "k", v, 0) for v in (5, -1, 3, 9, 9)])
    assert outputs["out"] == [Record("k", 5, 5), Record("k", 3, 3), Record("k", 9, 9), Record("k", 9, 9)]
    assert metrics["read"]["dropped"] == {"negative timestamp": 1}
    if runtime.name == "driver":
        assert seen == [-1, 5, 5, 5, 9]


def test_stream_merged_with_its_own_repartition_runs_in_two_stages(runtime):
    builder = StreamsBuilder()
    words = builder.stream("in")
    swapped = words.map(lambda key, value: (value, key)).repartition("swapped")
    words.merge(swapped).group_by_key().aggregate(list, lambda key, value, seen: [*seen, value]).to_stream().to("out")
    topology = builder.build()
    assert topology.describe().count("Sub-topology:") == 1
    outputs, _ = runtime.run(topology, [("in", "a", "b", 1), ("in", "b", "a", 2)])
    assert outputs["out"] == [
        Record("a", ["b"], 1),
        Record("b", ["a"], 1),
        Record("b", ["a", "a"], 2),
        Record("a", ["b", "b"], 2),
    ]
