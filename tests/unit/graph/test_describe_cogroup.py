"""Names, indices and text of a cogroup's description are Kafka Streams' own."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import StreamsBuilder, TopologyError

COGROUP = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [in])
      --> KSTREAM-KEY-SELECT-0000000001
    Processor: KSTREAM-KEY-SELECT-0000000001 (stores: [])
      --> COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition-filter
      <-- KSTREAM-SOURCE-0000000000
    Processor: COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition-filter (stores: [])
      --> COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition-sink
      <-- KSTREAM-KEY-SELECT-0000000001
    Sink: COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition-sink \
(topic: COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition)
      <-- COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition-filter

  Sub-topology: 1
    Source: COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition-source \
(topics: [COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition])
      --> COGROUPKSTREAM-AGGREGATE-0000000007
    Source: KSTREAM-SOURCE-0000000002 (topics: [other])
      --> COGROUPKSTREAM-AGGREGATE-0000000008
    Processor: COGROUPKSTREAM-AGGREGATE-0000000007 (stores: [COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003])
      --> COGROUPKSTREAM-MERGE-0000000009
      <-- COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition-source
    Processor: COGROUPKSTREAM-AGGREGATE-0000000008 (stores: [COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003])
      --> COGROUPKSTREAM-MERGE-0000000009
      <-- KSTREAM-SOURCE-0000000002
    Processor: COGROUPKSTREAM-MERGE-0000000009 (stores: [])
      --> KTABLE-TOSTREAM-0000000010
      <-- COGROUPKSTREAM-AGGREGATE-0000000007, COGROUPKSTREAM-AGGREGATE-0000000008
    Processor: KTABLE-TOSTREAM-0000000010 (stores: [])
      --> KSTREAM-SINK-0000000011
      <-- COGROUPKSTREAM-MERGE-0000000009
    Sink: KSTREAM-SINK-0000000011 (topic: out)
      <-- KTABLE-TOSTREAM-0000000010

"""


def by_value(builder, topic, **options):
    return builder.stream(topic).group_by(lambda key, value: value, **options)


def joined_text(key, value, text):
    return text + value


def cogrouped(builder, *, marked=(), **names):
    """Streams `in` and `other`; the marked ones are re-keyed, some under a name."""
    first, second = (
        by_value(builder, topic, name=names.get(topic)) if topic in marked else builder.stream(topic).group_by_key()
        for topic in ("in", "other")
    )
    return first.cogroup(joined_text).cogroup(second, joined_text)


def test_cogroup_is_described_as_kafka_streams_describes_it():
    builder = StreamsBuilder()
    cogrouped(builder, marked=["in"]).aggregate(str).to_stream().to("out")
    assert builder.build().describe() == COGROUP


SECONDS = hr.TimeWindows.of(timedelta(seconds=1))
SESSIONS = hr.SessionWindows.of(timedelta(seconds=1))


@pytest.mark.parametrize(
    "aggregate",
    [
        lambda cogroup: cogroup.windowed_by(SECONDS).aggregate(str),
        lambda cogroup: cogroup.windowed_by(hr.SlidingWindows.of(timedelta(seconds=1))).aggregate(str),
        lambda cogroup: cogroup.windowed_by(SESSIONS).aggregate(str, lambda key, left, right: left + right),
    ],
)
def test_windowed_cogroup_has_the_same_names(aggregate):
    builder = StreamsBuilder()
    aggregate(cogrouped(builder, marked=["in"])).to_stream().to("out")
    assert builder.build().describe() == COGROUP


def test_named_cogroup_names_its_aggregations_and_its_table():
    builder = StreamsBuilder()
    cogrouped(builder, marked=["other"]).aggregate(str, name="op", store="st").to_stream().to("out")
    assert [(node.name, node.parents, node.stores) for node in builder.build()._graph.nodes] == [
        ("KSTREAM-SOURCE-0000000000", (), ()),
        ("KSTREAM-SOURCE-0000000001", (), ()),
        ("KSTREAM-KEY-SELECT-0000000002", ("KSTREAM-SOURCE-0000000001",), ()),
        ("st-repartition-filter", ("KSTREAM-KEY-SELECT-0000000002",), ()),
        ("st-repartition-sink", ("st-repartition-filter",), ()),
        ("st-repartition-source", (), ()),
        ("op-cogroup-agg-0", ("KSTREAM-SOURCE-0000000000",), ("st",)),
        ("op-cogroup-agg-1", ("st-repartition-source",), ("st",)),
        ("op-cogroup-merge", ("op-cogroup-agg-0", "op-cogroup-agg-1"), ()),
        ("KTABLE-TOSTREAM-0000000009", ("op-cogroup-merge",), ()),
        ("KSTREAM-SINK-0000000010", ("KTABLE-TOSTREAM-0000000009",), ()),
    ]


def repartitions(builder):
    return [
        node.topic for node in builder.build()._graph.nodes if isinstance(node, hr._graph.nodes.Sink) and node.internal
    ]


def test_aggregations_of_one_cogroup_share_their_repartitions_and_still_use_up_indices():
    builder = StreamsBuilder()
    cogroup = cogrouped(builder, marked=["in"])
    tables = [cogroup.aggregate(str, store=store) for store in ("s1", "s2")]
    assert repartitions(builder) == ["s1-repartition"]
    assert [table._node for table in tables] == ["COGROUPKSTREAM-MERGE-0000000008", "COGROUPKSTREAM-MERGE-0000000014"]


def test_several_cogroups_of_one_grouped_stream_repartition_each_for_itself():
    builder = StreamsBuilder()
    first, second = by_value(builder, "in"), builder.stream("other").group_by_key()
    for store in ("s1", "s2"):
        first.cogroup(joined_text).cogroup(second, joined_text).aggregate(str, store=store)
    assert repartitions(builder) == ["s1-repartition", "s2-repartition"]


def test_named_repartitions_keep_their_names_in_a_cogroup():
    builder = StreamsBuilder()
    cogrouped(builder, marked=["in", "other"], **{"in": "ga", "other": "gb"}).aggregate(str)
    assert repartitions(builder) == ["ga-repartition", "gb-repartition"]


def test_second_repartition_without_a_name_has_the_number_of_its_input():
    """Kafka Streams refuses such a cogroup."""
    builder = StreamsBuilder()
    cogroup = cogrouped(builder, marked=["in", "other"])
    cogroup.cogroup(by_value(builder, "third", name="named"), joined_text).cogroup(
        by_value(builder, "fourth"), joined_text
    ).aggregate(str, store="st")
    assert repartitions(builder) == ["st-repartition", "st-1-repartition", "named-repartition", "st-3-repartition"]


def test_cogroup_leaves_the_one_it_adds_to_as_it_was():
    builder = StreamsBuilder()
    one = builder.stream("in").group_by_key().cogroup(joined_text)
    two = one.cogroup(builder.stream("other").group_by_key(), joined_text)
    tables = [cogroup.aggregate(str)._node for cogroup in (one, two)]
    assert [len(builder.build()._graph.by_name[table].parents) for table in tables] == [1, 2]


def test_shared_named_repartition_still_uses_up_indices():
    builder = StreamsBuilder()
    grouped = by_value(builder, "in", name="ga")
    assert [grouped.count().to_stream()._node, grouped.reduce(max).to_stream()._node] == [
        "KTABLE-TOSTREAM-0000000007",
        "KTABLE-TOSTREAM-0000000013",
    ]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda b, g: g.cogroup("x"), "cogroup() needs a function aggregator(key, value, aggregate); got 'x'"),
        (
            lambda b, g: g.cogroup(joined_text).cogroup(g, joined_text),
            "<KGroupedStream KSTREAM-SOURCE-0000000000> twice",
        ),
        (
            lambda b, g: g.cogroup(joined_text).cogroup(b.stream("other"), joined_text),
            "cogroup() needs a KGroupedStream; got <KStream KSTREAM-SOURCE-0000000001> of type KStream. Group",
        ),
        (
            lambda b, g: g.cogroup(joined_text).cogroup(StreamsBuilder().stream("in").group_by_key(), joined_text),
            "cogroup() needs streams of the same StreamsBuilder",
        ),
        (
            lambda b, g: g.cogroup(joined_text).cogroup(b.stream("other").group_by_key(), None),
            "cogroup() needs a function aggregator(key, value, aggregate); got None",
        ),
        (lambda b, g: g.cogroup(joined_text).aggregate(""), "aggregate() needs a function initializer(); got ''"),
        (lambda b, g: g.cogroup(joined_text).aggregate(str, name="a b"), "'a b' cannot name a node"),
        (lambda b, g: g.cogroup(joined_text).aggregate(str, store="a b"), "'a b' cannot name a store"),
        (lambda b, g: g.cogroup(joined_text).windowed_by(timedelta(1)), "allowed: TimeWindows, SlidingWindows"),
        (lambda b, g: g.cogroup(joined_text).windowed_by(SECONDS, late_to="a b"), "'a b' cannot name a topic"),
        (
            lambda b, g: g.cogroup(joined_text).windowed_by(SECONDS).aggregate(3),
            "needs a function initializer(); got 3",
        ),
        (
            lambda b, g: g.cogroup(joined_text).windowed_by(SESSIONS).aggregate(str, "x"),
            "aggregate() needs a function merger(key, left, right); got 'x'",
        ),
    ],
)
def test_cogroup_that_cannot_be_built_is_refused_with_a_reason(build, said):
    builder = StreamsBuilder()
    with pytest.raises(TopologyError) as refused:
        build(builder, builder.stream("in").group_by_key())
    assert said in str(refused.value)
