"""Branches with functions and consumers, print with a mapper and to a file, to_stream with new keys."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace import Record, StreamsBuilder, TopologyError
from tests.support.runtimes import DriverRuntime


def big(key, value):
    return value > 9


def middle(key, value):
    return value > 5


def test_consumers_and_functions_get_their_branch(runtime):
    builder = StreamsBuilder()
    branches = (
        builder.stream("in")
        .split(name="by-")
        .branch(big, name="big", consumer=lambda stream: stream.to("big"))
        .branch(middle, name="middle", function=lambda stream: stream.map_values(lambda value: -value))
        .default(name="small", function=lambda stream: stream.to("small"))
    )
    assert list(branches) == ["middle"]
    branches["middle"].to("middle")
    outputs, _ = runtime.run(builder.build(), [("in", "a", 10, 1), ("in", "a", 6, 2), ("in", "a", 1, 3)])
    assert outputs == {"big": [Record("a", 10, 1)], "small": [Record("a", 1, 3)], "middle": [Record("a", -6, 2)]}


def test_nodes_of_branches_are_named_after_the_split_and_created_in_order():
    builder = StreamsBuilder()
    split = builder.stream("in").split(name="by-")
    split.branch(big, name="big", consumer=lambda stream: stream.map_values(str).to("big"))
    split.branch(middle)
    assert list(split.default(name="rest")) == ["2", "rest"]
    names = [node.name for node in builder.build()._graph.nodes]
    assert names == [
        "KSTREAM-SOURCE-0000000000",
        "by-",
        "by-big",
        "KSTREAM-MAPVALUES-0000000003",
        "KSTREAM-SINK-0000000004",
        "by-2",
        "by-rest",
    ]


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda split: split.branch(big, function=str, consumer=str), r"was given function= and consumer=; give one"),
        (lambda split: split.branch(big, function=7), r"branch\(\) needs a function function\(stream\) -> stream"),
        (lambda split: split.default(consumer=7), r"default\(\) needs a function consumer\(stream\); got 7"),
        (lambda split: split.branch(big, function=repr), r"function= returned .* of type str for the branch '1'"),
        (lambda split: (split.default(), split.branch(big)), "the split has ended with its default branch"),
        (lambda split: split.no_default(), "has no branches"),
    ],
)
def test_branches_that_cannot_be_added_are_refused(add, message):
    with pytest.raises(TopologyError, match=message):
        add(StreamsBuilder().stream("in").split())


def test_print_shows_what_the_mapper_returns(capsys):
    builder = StreamsBuilder()
    builder.stream("in").print(label="seen", mapper=lambda key, value: None if value == 2 else f"{key}->{value}")
    DriverRuntime().run(builder.build(), [("in", "a", 1, 10), ("in", None, 2, 11)])
    assert capsys.readouterr().out == "[seen]: a->1\n[seen]: null\n"


def test_print_appends_to_a_file(runtime, tmp_path):
    file = tmp_path / "printed.txt"
    file.write_text("before\n", encoding="utf-8")
    builder = StreamsBuilder()
    builder.stream("in").print(label="in", file=file)
    runtime.run(builder.build(), [("in", "a", "Zürich", 10), ("in", None, None, 11)])
    assert file.read_text(encoding="utf-8") == "before\n[in]: a, Zürich\n[in]: null, null\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mapper": "x"}, r"print\(\) needs a function mapper\(key, value\); got 'x'"),
        ({"file": 7}, "print.. was given file=7; it must be the path of a file"),
        ({"file": ""}, "print.. was given file=''"),
        ({"file": "."}, "print.. was given file='.', which is a directory"),
    ],
)
def test_a_print_that_cannot_work_is_refused(options, message):
    with pytest.raises(TopologyError, match=message):
        StreamsBuilder().stream("in").print(**options)


def test_to_stream_with_new_keys_repartitions_what_is_grouped_by_them(runtime):
    builder = StreamsBuilder()
    stream = builder.table("in").to_stream(lambda key, value: None if value is None else value[0])
    stream.to("keyed")
    stream.group_by_key().count().to_stream().to("counts")
    outputs, _ = runtime.run(builder.build(), [("in", "1", "ax", 1), ("in", "2", "ay", 2), ("in", "1", None, 3)])
    assert outputs == {
        "keyed": [Record("a", "ax", 1), Record("a", "ay", 2), Record(None, None, 3)],
        "counts": [Record("a", 1, 1), Record("a", 2, 2)],
    }


def test_to_stream_refuses_what_has_no_effect():
    table = StreamsBuilder().table("in")
    with pytest.raises(TopologyError, match=r"to_stream\(\) was given key_serde= without key_mapper="):
        table.to_stream(key_serde=hr.serdes.String())
    with pytest.raises(TopologyError, match=r"to_stream\(\) needs a function key_mapper\(key, value\)"):
        table.to_stream("key")


def test_flat_map_values_with_key_keeps_the_partitioning():
    builder = StreamsBuilder()
    stream = builder.stream("in").flat_map_values_with_key(lambda key, value: [key, *value])
    stream.group_by_key().count().to_stream().to("out")
    assert "repartition" not in builder.build().describe()
    outputs, _ = DriverRuntime().run(builder.build(), [("in", "a", ["x", "y"], 5)])
    assert outputs == {"out": [Record("a", 1, 5), Record("a", 2, 5), Record("a", 3, 5)]}


def test_nodes_of_a_topology_may_have_names_of_any_text():
    class Same(hr.Processor):
        def process(self, record):
            self.context.forward(record, to=hr.To.child('the "end"'))

    topology = hr.Topology().add_source("my source", "in").add_processor("step 1: <same>", Same, parents="my source")
    topology.add_sink('the "end"', "out", parents=["step 1: <same>"])
    outputs, _ = DriverRuntime().run(topology, [("in", "a", 1, 5)])
    assert outputs == {"out": [Record("a", 1, 5)]}
    assert "Processor: step 1: <same> (stores: [])" in topology.describe()
    assert '["step 1: #lt;same#gt;<br/>Process"]' in topology.to_mermaid()
    assert "the #quot;end#quot;" in topology.to_mermaid()
    for name in ("", "  ", "two\nlines", 7):
        with pytest.raises(TopologyError, match="cannot name a node: allowed is any text in one line"):
            hr.Topology().add_source(name, "in")
