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

FOREIGN_KEY_JOIN = """\
Topologies:
   Sub-topology: 0
    Source: KTABLE-SOURCE-0000000016 (topics: [KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic])
      --> KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-0000000017
    Source: KSTREAM-SOURCE-0000000001 (topics: [left])
      --> KTABLE-SOURCE-0000000002
    Processor: KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-0000000017 (stores: [left-STATE-STORE-0000000000])
      --> KTABLE-FK-JOIN-OUTPUT-0000000018
      <-- KTABLE-SOURCE-0000000016
    Processor: KTABLE-FK-JOIN-OUTPUT-0000000018 (stores: [])
      --> KTABLE-TOSTREAM-0000000020
      <-- KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-0000000017
    Processor: KTABLE-SOURCE-0000000002 (stores: [left-STATE-STORE-0000000000])
      --> KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000007
      <-- KSTREAM-SOURCE-0000000001
    Processor: KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000007 (stores: [])
      --> KTABLE-SINK-0000000008
      <-- KTABLE-SOURCE-0000000002
    Processor: KTABLE-TOSTREAM-0000000020 (stores: [])
      --> KSTREAM-SINK-0000000021
      <-- KTABLE-FK-JOIN-OUTPUT-0000000018
    Sink: KSTREAM-SINK-0000000021 (topic: out)
      <-- KTABLE-TOSTREAM-0000000020
    Sink: KTABLE-SINK-0000000008 (topic: KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic)
      <-- KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000007

  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000004 (topics: [right])
      --> KTABLE-SOURCE-0000000005
    Source: KTABLE-SOURCE-0000000009 (topics: [KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic])
      --> KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000011
    Processor: KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000011 (stores: [KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010])
      --> KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000012
      <-- KTABLE-SOURCE-0000000009
    Processor: KTABLE-SOURCE-0000000005 (stores: [right-STATE-STORE-0000000003])
      --> KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000013
      <-- KSTREAM-SOURCE-0000000004
    Processor: KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000012 (stores: [right-STATE-STORE-0000000003])
      --> KTABLE-SINK-0000000015
      <-- KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000011
    Processor: KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000013 (stores: [KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010])
      --> KTABLE-SINK-0000000015
      <-- KTABLE-SOURCE-0000000005
    Sink: KTABLE-SINK-0000000015 (topic: KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic)
      <-- KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000012, KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-0000000013

"""  # noqa: E501

NAMED_FOREIGN_KEY_JOIN = """\
Topologies:
   Sub-topology: 0
    Source: n-subscription-response-source (topics: [n-subscription-response-topic])
      --> n-subscription-response-resolver
    Source: KSTREAM-SOURCE-0000000001 (topics: [left])
      --> KTABLE-SOURCE-0000000002
    Processor: n-subscription-response-resolver (stores: [left-STATE-STORE-0000000000])
      --> n-result
      <-- n-subscription-response-source
    Processor: KTABLE-SOURCE-0000000002 (stores: [left-STATE-STORE-0000000000])
      --> n-subscription-registration-processor
      <-- KSTREAM-SOURCE-0000000001
    Processor: n-result (stores: [st])
      --> KTABLE-TOSTREAM-0000000019
      <-- n-subscription-response-resolver
    Processor: KTABLE-TOSTREAM-0000000019 (stores: [])
      --> KSTREAM-SINK-0000000020
      <-- n-result
    Processor: n-subscription-registration-processor (stores: [])
      --> n-subscription-registration-sink
      <-- KTABLE-SOURCE-0000000002
    Sink: KSTREAM-SINK-0000000020 (topic: out)
      <-- KTABLE-TOSTREAM-0000000019
    Sink: n-subscription-registration-sink (topic: n-subscription-registration-topic)
      <-- n-subscription-registration-processor

  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000004 (topics: [right])
      --> KTABLE-SOURCE-0000000005
    Source: n-subscription-registration-source (topics: [n-subscription-registration-topic])
      --> n-subscription-receive
    Processor: KTABLE-SOURCE-0000000005 (stores: [right-STATE-STORE-0000000003])
      --> n-foreign-join-subscription
      <-- KSTREAM-SOURCE-0000000004
    Processor: n-subscription-receive (stores: [n-subscription-store])
      --> n-subscription-join-foreign
      <-- n-subscription-registration-source
    Processor: n-foreign-join-subscription (stores: [n-subscription-store])
      --> n-subscription-response-sink
      <-- KTABLE-SOURCE-0000000005
    Processor: n-subscription-join-foreign (stores: [right-STATE-STORE-0000000003])
      --> n-subscription-response-sink
      <-- n-subscription-receive
    Sink: n-subscription-response-sink (topic: n-subscription-response-topic)
      <-- n-subscription-join-foreign, n-foreign-join-subscription

"""

TABLE_JOINS = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000001 (topics: [left])
      --> KTABLE-SOURCE-0000000002
    Source: KSTREAM-SOURCE-0000000004 (topics: [right])
      --> KTABLE-SOURCE-0000000005
    Processor: KTABLE-SOURCE-0000000002 (stores: [left-STATE-STORE-0000000000])
      --> KTABLE-JOINTHIS-0000000007, tj-join-this
      <-- KSTREAM-SOURCE-0000000001
    Processor: KTABLE-SOURCE-0000000005 (stores: [right-STATE-STORE-0000000003])
      --> KTABLE-JOINOTHER-0000000008, tj-join-other
      <-- KSTREAM-SOURCE-0000000004
    Processor: KTABLE-JOINOTHER-0000000008 (stores: [left-STATE-STORE-0000000000])
      --> KTABLE-MERGE-0000000006
      <-- KTABLE-SOURCE-0000000005
    Processor: KTABLE-JOINTHIS-0000000007 (stores: [right-STATE-STORE-0000000003])
      --> KTABLE-MERGE-0000000006
      <-- KTABLE-SOURCE-0000000002
    Processor: tj-join-other (stores: [left-STATE-STORE-0000000000])
      --> tj
      <-- KTABLE-SOURCE-0000000005
    Processor: tj-join-this (stores: [right-STATE-STORE-0000000003])
      --> tj
      <-- KTABLE-SOURCE-0000000002
    Processor: KTABLE-MERGE-0000000006 (stores: [])
      --> KTABLE-TOSTREAM-0000000009
      <-- KTABLE-JOINTHIS-0000000007, KTABLE-JOINOTHER-0000000008
    Processor: tj (stores: [st])
      --> KTABLE-TOSTREAM-0000000014
      <-- tj-join-this, tj-join-other
    Processor: KTABLE-TOSTREAM-0000000009 (stores: [])
      --> KSTREAM-SINK-0000000010
      <-- KTABLE-MERGE-0000000006
    Processor: KTABLE-TOSTREAM-0000000014 (stores: [])
      --> KSTREAM-SINK-0000000015
      <-- tj
    Sink: KSTREAM-SINK-0000000010 (topic: out)
      <-- KTABLE-TOSTREAM-0000000009
    Sink: KSTREAM-SINK-0000000015 (topic: out2)
      <-- KTABLE-TOSTREAM-0000000014

"""

STREAM_TABLE_JOINS = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [s])
      --> KSTREAM-KEY-SELECT-0000000001
    Processor: KSTREAM-KEY-SELECT-0000000001 (stores: [])
      --> KSTREAM-FILTER-0000000006, nm-repartition-filter
      <-- KSTREAM-SOURCE-0000000000
    Processor: KSTREAM-FILTER-0000000006 (stores: [])
      --> KSTREAM-SINK-0000000005
      <-- KSTREAM-KEY-SELECT-0000000001
    Processor: nm-repartition-filter (stores: [])
      --> nm-repartition-sink
      <-- KSTREAM-KEY-SELECT-0000000001
    Sink: KSTREAM-SINK-0000000005 (topic: KSTREAM-KEY-SELECT-0000000001-repartition)
      <-- KSTREAM-FILTER-0000000006
    Sink: nm-repartition-sink (topic: nm-repartition)
      <-- nm-repartition-filter

  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000007 (topics: [KSTREAM-KEY-SELECT-0000000001-repartition])
      --> KSTREAM-JOIN-0000000008
    Source: nm-repartition-source (topics: [nm-repartition])
      --> nm
    Processor: KSTREAM-JOIN-0000000008 (stores: [right-STATE-STORE-0000000002])
      --> KSTREAM-SINK-0000000009
      <-- KSTREAM-SOURCE-0000000007
    Source: KSTREAM-SOURCE-0000000003 (topics: [right])
      --> KTABLE-SOURCE-0000000004
    Processor: nm (stores: [right-STATE-STORE-0000000002])
      --> KSTREAM-SINK-0000000014
      <-- nm-repartition-source
    Sink: KSTREAM-SINK-0000000009 (topic: out)
      <-- KSTREAM-JOIN-0000000008
    Sink: KSTREAM-SINK-0000000014 (topic: out2)
      <-- nm
    Processor: KTABLE-SOURCE-0000000004 (stores: [right-STATE-STORE-0000000002])
      --> none
      <-- KSTREAM-SOURCE-0000000003

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


def foreign_key_join(builder):
    left, right = builder.table("left"), builder.table("right")
    left.join(right, str.__add__, foreign_key=lambda key, value: value).to_stream().to("out")


def named_foreign_key_join(builder):
    left, right = builder.table("left"), builder.table("right")
    joined = left.left_join(right, str.__add__, foreign_key=lambda key, value: value, name="n", store="st")
    joined.to_stream().to("out")


def table_joins(builder):
    left, right = builder.table("left"), builder.table("right")
    left.left_join(right, str.__add__).to_stream().to("out")
    left.outer_join(right, str.__add__, name="tj", store="st").to_stream().to("out2")


def stream_table_joins(builder):
    stream = builder.stream("s").select_key(lambda key, value: value)
    table = builder.table("right")
    stream.join(table, str.__add__).to("out")
    stream.left_join(table, str.__add__, name="nm").to("out2")


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (foreign_key_join, FOREIGN_KEY_JOIN),
        (named_foreign_key_join, NAMED_FOREIGN_KEY_JOIN),
        (table_joins, TABLE_JOINS),
        (stream_table_joins, STREAM_TABLE_JOINS),
    ],
)
def test_joins_are_described_as_kafka_streams_describes_them(build, text):
    builder = StreamsBuilder()
    build(builder)
    assert builder.build().describe() == text


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


GLOBAL_JOINS = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [stream])
      --> KSTREAM-LEFTJOIN-0000000006, joiner
    Processor: KSTREAM-LEFTJOIN-0000000006 (stores: [])
      --> KSTREAM-SINK-0000000007
      <-- KSTREAM-SOURCE-0000000000
    Processor: joiner (stores: [])
      --> KSTREAM-SINK-0000000005
      <-- KSTREAM-SOURCE-0000000000
    Sink: KSTREAM-SINK-0000000005 (topic: out)
      <-- joiner
    Sink: KSTREAM-SINK-0000000007 (topic: out2)
      <-- KSTREAM-LEFTJOIN-0000000006

  Sub-topology: 1 for global store (will not generate tasks)
    Source: KSTREAM-SOURCE-0000000002 (topics: [table])
      --> KTABLE-SOURCE-0000000003
    Processor: KTABLE-SOURCE-0000000003 (stores: [table-STATE-STORE-0000000001])
      --> none
      <-- KSTREAM-SOURCE-0000000002
  Sub-topology: 2
    Source: KSTREAM-SOURCE-0000000008 (topics: [other])
      --> KSTREAM-LEFTJOIN-0000000009
    Processor: KSTREAM-LEFTJOIN-0000000009 (stores: [])
      --> KSTREAM-SINK-0000000010
      <-- KSTREAM-SOURCE-0000000008
    Sink: KSTREAM-SINK-0000000010 (topic: out3)
      <-- KSTREAM-LEFTJOIN-0000000009

"""


def test_joins_with_a_global_table_are_described_as_kafka_streams_does():
    builder = StreamsBuilder()
    stream = builder.stream("stream")
    table = builder.global_table("table")
    stream.join(table, max, name="joiner").to("out")
    stream.left_join(table, max).to("out2")
    builder.stream("other").left_join(table, max).to("out3")
    assert builder.build().describe() == GLOBAL_JOINS


GLOBAL_TABLES_FIRST = """\
Topologies:
   Sub-topology: 0 for global store (will not generate tasks)
    Source: mine-source (topics: [table])
      --> mine
    Processor: mine (stores: [table-STATE-STORE-0000000000])
      --> none
      <-- mine-source
  Sub-topology: 1 for global store (will not generate tasks)
    Source: KSTREAM-SOURCE-0000000003 (topics: [table2])
      --> KTABLE-SOURCE-0000000004
    Processor: KTABLE-SOURCE-0000000004 (stores: [p2])
      --> none
      <-- KSTREAM-SOURCE-0000000003
  Sub-topology: 2
    Source: KSTREAM-SOURCE-0000000005 (topics: [stream])
      --> KSTREAM-KEY-SELECT-0000000006
    Processor: KSTREAM-KEY-SELECT-0000000006 (stores: [])
      --> KSTREAM-LEFTJOIN-0000000007
      <-- KSTREAM-SOURCE-0000000005
    Processor: KSTREAM-LEFTJOIN-0000000007 (stores: [])
      --> KSTREAM-LEFTJOIN-0000000008
      <-- KSTREAM-KEY-SELECT-0000000006
    Processor: KSTREAM-LEFTJOIN-0000000008 (stores: [])
      --> KSTREAM-FILTER-0000000012
      <-- KSTREAM-LEFTJOIN-0000000007
    Processor: KSTREAM-FILTER-0000000012 (stores: [])
      --> KSTREAM-SINK-0000000011
      <-- KSTREAM-LEFTJOIN-0000000008
    Sink: KSTREAM-SINK-0000000011 (topic: KSTREAM-AGGREGATE-STATE-STORE-0000000009-repartition)
      <-- KSTREAM-FILTER-0000000012

  Sub-topology: 3
    Source: KSTREAM-SOURCE-0000000013 (topics: [KSTREAM-AGGREGATE-STATE-STORE-0000000009-repartition])
      --> KSTREAM-AGGREGATE-0000000010
    Processor: KSTREAM-AGGREGATE-0000000010 (stores: [KSTREAM-AGGREGATE-STATE-STORE-0000000009])
      --> KTABLE-TOSTREAM-0000000014
      <-- KSTREAM-SOURCE-0000000013
    Processor: KTABLE-TOSTREAM-0000000014 (stores: [])
      --> KSTREAM-SINK-0000000015
      <-- KSTREAM-AGGREGATE-0000000010
    Sink: KSTREAM-SINK-0000000015 (topic: out)
      <-- KTABLE-TOSTREAM-0000000014

"""


def test_named_global_tables_before_a_count_are_described_as_kafka_streams_does():
    builder = StreamsBuilder()
    mine, second = builder.global_table("table", name="mine"), builder.global_table("table2", store="p2")
    marked = builder.stream("stream").select_key(lambda key, value: value)
    marked.join(mine, max).left_join(second, max).group_by_key().count().to_stream().to("out")
    assert builder.build().describe() == GLOBAL_TABLES_FIRST


def test_mermaid_ties_a_join_to_its_global_table():
    builder = StreamsBuilder()
    table = builder.global_table("pages", store="rows", name="table")
    builder.stream("in", name="read").join(table, max, name="join")
    assert builder.build().to_mermaid() == (
        "flowchart TD\n"
        '    subgraph sub0["Sub-topology 0: global table"]\n'
        '        n0["table-source"]\n'
        '        n1["table<br/>TableSource"]\n'
        '        s0[("rows")]\n'
        "    end\n"
        '    subgraph sub1["Sub-topology 1"]\n'
        '        n2["read<br/>Source"]\n'
        '        n3["join<br/>StreamGlobalJoin"]\n'
        "    end\n"
        '    t0(["pages"])\n'
        '    t1(["in"])\n'
        "    n0 --> n1\n"
        "    t0 --> n0\n"
        "    n1 -.- s0\n"
        "    n2 --> n3\n"
        "    t1 --> n2\n"
        "    n3 -.- s0\n"
    )


LEFT_JOIN = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [left])
      --> KSTREAM-WINDOWED-0000000002
    Source: KSTREAM-SOURCE-0000000001 (topics: [right])
      --> KSTREAM-WINDOWED-0000000003
    Processor: KSTREAM-WINDOWED-0000000002 (stores: [KSTREAM-JOINTHIS-0000000004-store])
      --> KSTREAM-JOINTHIS-0000000004
      <-- KSTREAM-SOURCE-0000000000
    Processor: KSTREAM-WINDOWED-0000000003 (stores: [KSTREAM-OUTEROTHER-0000000005-store])
      --> KSTREAM-OUTEROTHER-0000000005
      <-- KSTREAM-SOURCE-0000000001
    Processor: KSTREAM-JOINTHIS-0000000004 (stores: [KSTREAM-OUTEROTHER-0000000005-store, KSTREAM-OUTERSHARED-0000000004-store])
      --> KSTREAM-MERGE-0000000006
      <-- KSTREAM-WINDOWED-0000000002
    Processor: KSTREAM-OUTEROTHER-0000000005 (stores: [KSTREAM-JOINTHIS-0000000004-store, KSTREAM-OUTERSHARED-0000000004-store])
      --> KSTREAM-MERGE-0000000006
      <-- KSTREAM-WINDOWED-0000000003
    Processor: KSTREAM-MERGE-0000000006 (stores: [])
      --> KSTREAM-SINK-0000000007
      <-- KSTREAM-JOINTHIS-0000000004, KSTREAM-OUTEROTHER-0000000005
    Sink: KSTREAM-SINK-0000000007 (topic: out)
      <-- KSTREAM-MERGE-0000000006

"""  # noqa: E501

WITHIN = hr.JoinWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=5))


def test_left_join_of_streams_is_described_as_kafka_streams_does():
    builder = StreamsBuilder()
    builder.stream("left").left_join(builder.stream("right"), max, within=WITHIN).to("out")
    assert builder.build().describe() == LEFT_JOIN


@pytest.mark.parametrize(
    ("method", "options", "nodes", "stores"),
    [
        (
            "join",
            {},
            "KSTREAM-JOINTHIS-0000000004 KSTREAM-JOINOTHER-0000000005",
            "KSTREAM-JOINTHIS-0000000004-store KSTREAM-JOINOTHER-0000000005-store",
        ),
        (
            "outer_join",
            {},
            "KSTREAM-OUTERTHIS-0000000004 KSTREAM-OUTEROTHER-0000000005",
            "KSTREAM-OUTERTHIS-0000000004-store KSTREAM-OUTEROTHER-0000000005-store "
            "KSTREAM-OUTERSHARED-0000000004-store",
        ),
        (
            "join",
            {"name": "n"},
            "n-this-join n-other-join",
            "KSTREAM-JOINTHIS-0000000004-store KSTREAM-JOINOTHER-0000000005-store",
        ),
        (
            "left_join",
            {"name": "n"},
            "n-this-join n-outer-other-join",
            "KSTREAM-JOINTHIS-0000000004-store KSTREAM-OUTEROTHER-0000000005-store "
            "KSTREAM-OUTERSHARED-0000000004-store",
        ),
        (
            "outer_join",
            {"name": "n", "store": "s"},
            "n-outer-this-join n-outer-other-join",
            "s-outer-this-join-store s-outer-other-join-store s-outer-shared-join-store",
        ),
        (
            "left_join",
            {"name": "n", "store": "s"},
            "n-this-join n-outer-other-join",
            "s-this-join-store s-outer-other-join-store s-left-shared-join-store",
        ),
        ("join", {"name": "n", "store": "s"}, "n-this-join n-other-join", "s-this-join-store s-other-join-store"),
    ],
)
def test_nodes_and_stores_of_stream_joins_have_kafka_streams_names(method, options, nodes, stores):
    builder = StreamsBuilder()
    getattr(builder.stream("left"), method)(builder.stream("right"), max, within=WITHIN, **options).peek(print)
    graph = builder.build()._graph
    named = "name" in options
    windowed = ["n-this-windowed", "n-other-windowed"] if named else [f"KSTREAM-WINDOWED-000000000{n}" for n in (2, 3)]
    merge = "n-merge" if named else "KSTREAM-MERGE-0000000006"
    expected = [*windowed, *nodes.split(), merge, "KSTREAM-PEEK-0000000007"]
    assert [node.name for node in graph.nodes][2:] == expected
    assert list(graph.stores) == stores.split()


@pytest.mark.parametrize(
    ("options", "topics", "joins"),
    [
        (
            {},
            ["KSTREAM-KEY-SELECT-0000000001-repartition"],
            ["KSTREAM-JOINTHIS-0000000010", "KSTREAM-MERGE-0000000012"],
        ),
        ({"name": "n"}, ["n-left-repartition", "n-right-repartition"], ["n-this-join", "n-merge"]),
    ],
)
def test_stream_with_changed_keys_joined_with_itself_is_repartitioned_once_unless_the_join_is_named(
    options, topics, joins
):
    builder = StreamsBuilder()
    stream = builder.stream("in").select_key(lambda key, value: value)
    stream.join(stream, max, within=WITHIN, **options).peek(print)
    graph = builder.build()._graph
    assert [node.topic for node in graph.nodes if isinstance(node, hr._graph.nodes.Sink)] == topics
    assert set(joins) < set(graph.by_name)
    assert "KSTREAM-PEEK-0000000013" in graph.by_name
