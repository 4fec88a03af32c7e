"""Names, indices and text of descriptions are Kafka Streams' own."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import StreamsBuilder, TopologyError, serdes

WORD_COUNT = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [in])
      --> KSTREAM-FLATMAPVALUES-0000000001
    Processor: KSTREAM-FLATMAPVALUES-0000000001 (stores: [])
      --> KSTREAM-KEY-SELECT-0000000002
      <-- KSTREAM-SOURCE-0000000000
    Processor: KSTREAM-KEY-SELECT-0000000002 (stores: [])
      --> cnt-repartition-filter
      <-- KSTREAM-FLATMAPVALUES-0000000001
    Processor: cnt-repartition-filter (stores: [])
      --> cnt-repartition-sink
      <-- KSTREAM-KEY-SELECT-0000000002
    Sink: cnt-repartition-sink (topic: cnt-repartition)
      <-- cnt-repartition-filter

  Sub-topology: 1
    Source: cnt-repartition-source (topics: [cnt-repartition])
      --> KSTREAM-AGGREGATE-0000000003
    Processor: KSTREAM-AGGREGATE-0000000003 (stores: [cnt])
      --> KTABLE-TOSTREAM-0000000007
      <-- cnt-repartition-source
    Processor: KTABLE-TOSTREAM-0000000007 (stores: [])
      --> KSTREAM-SINK-0000000008
      <-- KSTREAM-AGGREGATE-0000000003
    Sink: KSTREAM-SINK-0000000008 (topic: out)
      <-- KTABLE-TOSTREAM-0000000007

"""


def test_word_count_is_described_as_kafka_streams_describes_it():
    builder = StreamsBuilder()
    (
        builder.stream("in")
        .flat_map_values(str.split)
        .select_key(lambda key, word: word)
        .group_by_key()
        .count(store="cnt")
        .to_stream()
        .to("out")
    )
    assert builder.build().describe() == WORD_COUNT


def test_unnamed_store_and_repartition_take_generated_names():
    builder = StreamsBuilder()
    builder.stream("in").group_by(lambda key, value: value).count().to_stream().to("out")
    graph = builder.build()._graph
    assert [node.name for node in graph.nodes] == [
        "KSTREAM-SOURCE-0000000000",
        "KSTREAM-KEY-SELECT-0000000001",
        "KSTREAM-FILTER-0000000005",
        "KSTREAM-SINK-0000000004",
        "KSTREAM-SOURCE-0000000006",
        "KSTREAM-AGGREGATE-0000000003",
        "KTABLE-TOSTREAM-0000000007",
        "KSTREAM-SINK-0000000008",
    ]
    assert list(graph.stores) == ["KSTREAM-AGGREGATE-STATE-STORE-0000000002"]
    assert graph.by_name["KSTREAM-SINK-0000000004"].topic == "KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition"


def test_a_given_name_still_uses_up_its_index():
    builder = StreamsBuilder()
    builder.stream("in", name="source").filter(lambda k, v: True, name="mine").peek(print).to("out", name="sink")
    assert [node.name for node in builder.build()._graph.nodes] == ["source", "mine", "KSTREAM-PEEK-0000000002", "sink"]


@pytest.mark.parametrize(
    ("build", "repartitions"),
    [
        (lambda s: s.group_by_key().count(), 0),
        (lambda s: s.filter(lambda k, v: True).map_values(str).peek(print).group_by_key().count(), 0),
        (lambda s: s.flat_map_values(list).group_by_key().count(), 0),
        (lambda s: s.map(lambda k, v: (k, v)).group_by_key().count(), 1),
        (lambda s: s.flat_map(lambda k, v: []).map_values(str).group_by_key().count(), 1),
        (lambda s: s.select_key(lambda k, v: v).filter(lambda k, v: True).group_by_key().reduce(max), 1),
        (lambda s: s.group_by(lambda k, v: v).count(), 1),
        (lambda s: s.select_key(lambda k, v: v).repartition().group_by_key().count(), 1),
        (lambda s: s.merge(s.select_key(lambda k, v: v)).group_by_key().count(), 1),
        (lambda s: s.split().branch(lambda k, v: True, name="a").no_default()["a"].group_by_key().count(), 0),
        (lambda s: s.group_by(lambda k, v: v).count().to_stream().group_by_key().count(), 1),
        (lambda s: s.select_key(lambda k, v: v).to("elsewhere"), 0),
    ],
)
def test_repartitions_exactly_when_the_key_may_have_changed(build, repartitions):
    builder = StreamsBuilder()
    build(builder.stream("in"))
    internal = [
        node for node in builder.build()._graph.nodes if isinstance(node, hr._graph.nodes.Sink) and node.internal
    ]
    assert len(internal) == repartitions


def test_named_grouping_shares_one_repartition():
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by(lambda key, value: value, name="by-value")
    grouped.count(store="counts")
    grouped.reduce(max, store="maxima")
    sinks = [node.topic for node in builder.build()._graph.nodes if isinstance(node, hr._graph.nodes.Sink)]
    assert sinks == ["by-value-repartition"]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda b: b.stream([]), "stream() needs at least one topic"),
        (lambda b: b.stream("a/b"), "'a/b' cannot name a topic"),
        (lambda b: b.stream("in").filter("x"), "filter() needs a function predicate(key, value); got 'x' of type str"),
        (lambda b: b.stream("in").to("out side"), "'out side' cannot name a topic"),
        (
            lambda b: (b.stream("in").filter(print, name="f"), b.stream("in").filter(print, name="f")),
            "already a node named 'f'",
        ),
        (lambda b: [b.stream("in").group_by_key().count(store="s") for _ in "ab"], "already a store named 's'"),
        (lambda b: b.stream("in").merge(3), "merge() needs another KStream; got 3 of type int"),
        (lambda b: b.stream("in").merge(StreamsBuilder().stream("in")), "two streams of the same StreamsBuilder"),
        (lambda b: b.stream("in").repartition(partitions=0), "partitions=0; it must be a whole number of 1 or more"),
        (lambda b: b.stream("in").split().no_default(), "has no branches"),
        (
            lambda b: (b.stream(["a", "b"]), b.stream("a")),
            "Topic 'a' is already read by source 'KSTREAM-SOURCE-0000000000'",
        ),
        (lambda b: (b.stream("a"), b.stream("a", value_serde=serdes.Long())), "with other serdes"),
        (lambda b: b.build(), "The topology reads no topic"),
    ],
)
def test_what_cannot_be_built_is_refused_with_a_reason(build, said):
    with pytest.raises(TopologyError) as refused:
        build(StreamsBuilder())
    assert said in str(refused.value)


def test_mermaid_shows_topics_nodes_stores_and_sub_topologies():
    builder = StreamsBuilder()
    builder.stream("in", name="read").group_by_key().count(store="counts", name="count").to_stream(name="stream").to(
        "out", name="write"
    )
    assert builder.build().to_mermaid() == (
        "flowchart TD\n"
        '    subgraph sub0["Sub-topology 0"]\n'
        '        n0["read<br/>Source"]\n'
        '        n1["count<br/>StreamCount"]\n'
        '        n2["stream<br/>TableToStream"]\n'
        '        n3["write<br/>Sink"]\n'
        '        s0[("counts")]\n'
        "    end\n"
        '    t0(["in"])\n'
        '    t1(["out"])\n'
        "    n0 --> n1\n"
        "    t0 --> n0\n"
        "    n1 --> n2\n"
        "    n1 -.- s0\n"
        "    n2 --> n3\n"
        "    n3 --> t1\n"
    )


TABLE_COUNT = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000001 (topics: [in])
      --> KTABLE-SOURCE-0000000002
    Processor: KTABLE-SOURCE-0000000002 (stores: [in-STATE-STORE-0000000000])
      --> KTABLE-SELECT-0000000003
      <-- KSTREAM-SOURCE-0000000001
    Processor: KTABLE-SELECT-0000000003 (stores: [])
      --> KSTREAM-SINK-0000000005
      <-- KTABLE-SOURCE-0000000002
    Sink: KSTREAM-SINK-0000000005 (topic: KTABLE-AGGREGATE-STATE-STORE-0000000004-repartition)
      <-- KTABLE-SELECT-0000000003

  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000006 (topics: [KTABLE-AGGREGATE-STATE-STORE-0000000004-repartition])
      --> KTABLE-AGGREGATE-0000000007
    Processor: KTABLE-AGGREGATE-0000000007 (stores: [KTABLE-AGGREGATE-STATE-STORE-0000000004])
      --> KTABLE-TOSTREAM-0000000008
      <-- KSTREAM-SOURCE-0000000006
    Processor: KTABLE-TOSTREAM-0000000008 (stores: [])
      --> KSTREAM-SINK-0000000009
      <-- KTABLE-AGGREGATE-0000000007
    Sink: KSTREAM-SINK-0000000009 (topic: out)
      <-- KTABLE-TOSTREAM-0000000008

"""


def test_count_of_a_grouped_table_is_described_as_kafka_streams_does():
    builder = StreamsBuilder()
    builder.table("in").group_by(lambda key, value: (value, key)).count().to_stream().to("out")
    assert builder.build().describe() == TABLE_COUNT


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
