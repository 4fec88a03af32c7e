"""Topics that are joined have as many partitions, the one as the other; those of the topology's own adopt them."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import StreamsBuilder, TopicError
from headrace._graph.partitions import partition_counts


def pair(left, right):
    return [left, right]


def swap(key, value):
    return value, key


def counts(build, **topics):
    """Partitions of every topic, and tasks of every stage."""
    builder = StreamsBuilder()
    build(builder)
    return partition_counts(builder.build()._graph, topics)


def refused(build, **topics):
    with pytest.raises(TopicError) as error:
        counts(build, **topics)
    return str(error.value)


NEEDS = " needs topics with the same number of partitions, so that equal keys meet in one task: "


def test_a_join_of_unequal_topics_is_refused_with_both_counts_and_advice():
    assert refused(lambda builder: builder.stream("s").left_join(builder.table("t"), pair).to("out"), s=4, t=3) == (
        f"left_join(){NEEDS}'s' has 4, 't' has 3. Repartition one of them first, e.g. "
        "builder.stream('t').repartition(partitions=4), followed by .to_table() for a table; or create both topics "
        "with the same number of partitions."
    )
    tables = refused(lambda builder: builder.table("b").outer_join(builder.table("a"), pair), a=1, b=2)
    assert tables.startswith(f"outer_join(){NEEDS}'b' has 2, 'a' has 1. Repartition one of them")


def test_the_advice_works():
    def repartitioned(builder):
        table = builder.stream("t").repartition(partitions=4).to_table()
        builder.stream("s").left_join(table, pair).to("out")

    assert counts(repartitioned, s=4, t=3)[1] == [3, 4]


@pytest.mark.parametrize(
    "between",
    [
        lambda table: table,
        lambda table: table.filter(lambda key, value: True).map_values(str),
        lambda table: table.to_stream().map_values(str).to_table(),
        lambda table: table.to_stream().group_by_key().count(),
        lambda table: table.suppress(hr.Suppressed.until_time_limit(timedelta(1))),
    ],
)
def test_what_lies_between_topic_and_join_changes_nothing(between):
    said = refused(lambda builder: builder.table("a").join(between(builder.table("b")), pair), a=4, b=3)
    assert "'a' has 4, 'b' has 3" in said


def test_every_topic_of_a_stream_of_several_must_agree():
    def several(builder):
        builder.stream(["s1", "s2"]).join(builder.table("t"), pair).to("out")

    def merged(builder):
        builder.stream("s1").merge(builder.stream("s2")).join(builder.table("t"), pair).to("out")

    for build in (several, merged):
        assert counts(build, s1=2, s2=2, t=2)[1] == [2]
        assert "'s1' has 2, 's2' has 3" in refused(build, s1=2, s2=3, t=2)


def test_a_repartition_has_as_many_partitions_as_the_topic_it_is_joined_with():
    def build(builder):
        builder.stream("s").map(swap, name="swap").join(builder.table("t"), pair).to("out")

    assert counts(build, s=4, t=3) == ({"s": 4, "t": 3, "swap-repartition": 3, "out": 3}, [4, 3])
    assert counts(build, s=2, t=5) == ({"s": 2, "t": 5, "swap-repartition": 5, "out": 5}, [2, 5])


def test_repartitions_that_are_only_joined_with_each_other_have_as_many_as_the_widest_writes():
    def build(builder):
        table = builder.stream("b").map(swap, name="swap-b").to_table(name="table")
        builder.stream("a").map(swap, name="swap-a").join(table, pair).to("out")

    partitions, tasks = counts(build, a=2, b=5)
    assert (partitions["swap-a-repartition"], partitions["table-repartition"], partitions["out"]) == (5, 5, 5)
    assert sorted(tasks) == [2, 5, 5]


def test_a_repartition_that_asks_for_another_number_is_refused():
    def build(builder):
        builder.stream("s").repartition("r", partitions=2).join(builder.table("t"), pair).to("out")

    advice = "use the number of the other topic, or leave out partitions= to get it automatically."
    assert refused(build, s=1, t=3) == (
        f"join(){NEEDS}'r-repartition' has 2, 't' has 3. 'r-repartition' has the number that "
        f"repartition(partitions=2) asks for: {advice}"
    )
    assert counts(build, s=1, t=2)[1] == [1, 2]

    def tables(builder):
        builder.table("t").join(builder.stream("s").repartition("r", partitions=2).to_table(), pair)

    assert "'t' has 3, 'r-repartition' has 2. 'r-repartition' has the number that repartition(partitions=2)" in refused(
        tables, s=1, t=3
    )


def test_topics_that_are_joined_through_a_third_must_agree_too():
    def build(builder):
        repartitioned = builder.stream("s").map(swap).repartition("r")
        repartitioned.join(builder.table("a"), pair).to("out")
        repartitioned.left_join(builder.table("b"), pair).to("out")

    assert refused(build, s=1, a=4, b=3).startswith(f"left_join(){NEEDS}'a' has 4, 'b' has 3. Repartition one of them")
    partitions, tasks = counts(build, s=1, a=4, b=4)
    assert partitions == {"s": 1, "a": 4, "b": 4, "r-repartition": 4, "out": 4}
    assert tasks == [1, 4]


def test_a_join_of_joins_must_agree_with_all_topics_behind_it():
    def build(builder):
        a, b, c = (builder.table(name) for name in "abc")
        a.join(b, pair).join(c, pair)

    assert "'a' has 2, 'c' has 3" in refused(build, a=2, b=2, c=3)
    assert counts(build, a=2, b=2, c=2)[1] == [2]


def test_topics_of_a_foreign_key_join_have_the_partitions_of_those_who_read_them():
    def build(builder):
        left, right = builder.table("left"), builder.table("right")
        left.join(right, pair, foreign_key=lambda key, value: value, name="fk").to_stream().to("out")

    for left, right in [(4, 3), (1, 5)]:
        partitions, tasks = counts(build, left=left, right=right)
        assert partitions == {
            "left": left,
            "right": right,
            "fk-subscription-registration-topic": right,
            "fk-subscription-response-topic": left,
            "out": left,
        }
        assert tasks == [left, right, left]


def test_a_table_joined_with_itself_by_foreign_key_has_the_same_number_everywhere():
    def build(builder):
        table = builder.table("t")
        table.join(table, pair, foreign_key=lambda key, value: value).to_stream().to("out")

    partitions, tasks = counts(build, t=3)
    assert set(partitions.values()) == {3}
    assert tasks == [3, 3, 3]


def test_records_of_a_stream_by_foreign_key_go_to_as_many_partitions_as_the_table_has():
    def build(builder):
        joined = builder.stream("s").join(builder.table("t"), pair, foreign_key=lambda key, value: value, name="fk")
        joined.group_by_key().count(store="counts").to_stream().to("out")

    partitions, tasks = counts(build, s=4, t=3)
    assert partitions == {"s": 4, "t": 3, "fk-repartition": 3, "counts-repartition": 3, "out": 3}
    assert tasks == [4, 3, 3]


def test_a_later_stage_of_a_sub_topology_has_as_many_tasks_as_the_one_that_hands_over():
    def build(builder):
        stream = builder.stream("s")
        stream.left_join(stream.map(swap).group_by_key().count(), pair).to("out")

    partitions, tasks = counts(build, s=4)
    assert set(partitions.values()) == {4}
    assert tasks == [4, 4]


def test_an_output_topic_that_exists_keeps_its_partitions():
    def build(builder):
        builder.stream("s").join(builder.table("t"), pair).to("out")

    assert counts(build, s=2, t=2, out=7)[0]["out"] == 7


def test_a_repartition_keeps_its_partitions_when_its_topic_gets_more():
    builder = StreamsBuilder()
    builder.stream("s").group_by(swap, name="by").count(store="counts").to_stream().to("out")
    graph = builder.build()._graph
    first, tasks = partition_counts(graph, {"s": 2})
    assert (first["by-repartition"], tasks) == (2, [2, 2])
    assert partition_counts(graph, {"s": 5}, before=first) == ({"s": 5, "by-repartition": 2, "out": 2}, [5, 2])


def test_a_repartition_that_meets_a_topic_gets_more_partitions_with_it():
    builder = StreamsBuilder()
    builder.stream("s").select_key(swap, name="by").join(builder.table("t"), pair, name="join").to("out")
    graph = builder.build()._graph
    first, _ = partition_counts(graph, {"s": 2, "t": 2})
    grown, tasks = partition_counts(graph, {"s": 2, "t": 3}, before=first)
    assert {grown[topic] for topic in grown if topic.endswith("-repartition")} == {3}
    assert tasks[-1] == 3
