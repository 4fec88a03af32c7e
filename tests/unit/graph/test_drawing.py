"""Drawings of topologies: boxes never overlap, and records flow downwards."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace._graph.drawing.layout import layered, spread
from headrace._graph.drawing.picture import svg

SVG = "{http://www.w3.org/2000/svg}"


@st.composite
def graphs(draw):
    names = [f"n{index}" for index in range(draw(st.integers(1, 12)))]
    sizes = {name: (draw(st.integers(20, 200)), draw(st.integers(20, 80))) for name in names}
    pairs = [(upper, lower) for index, lower in enumerate(names) for upper in names[:index]]
    return sizes, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []


@given(graphs())
def test_boxes_stand_apart_inside_the_drawing_and_below_their_parents(graph):
    sizes, edges = graph
    drawing = layered(sizes, edges)
    assert {name: (box.width, box.height) for name, box in drawing.boxes.items()} == sizes
    assert [pair for pair in combinations(drawing.boxes, 2) if overlap(*map(drawing.boxes.get, pair))] == []
    assert [edge for edge in edges if drawing.boxes[edge[0]].y >= drawing.boxes[edge[1]].y] == []
    assert all(
        box.x - box.width / 2 + 1e-6 >= 0 and box.x + box.width / 2 <= drawing.width + 1e-6
        for box in drawing.boxes.values()
    )


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1, 100)), min_size=1, max_size=12))
def test_spread_keeps_order_and_distance_and_leaves_alone_what_fits(items):
    wanted, widths = zip(*items, strict=True)
    centres = spread(wanted, widths, gap=10)
    gaps = [right - left for left, right in pairwise(centres)]
    assert all(gap >= (a + b) / 2 + 10 - 1e-6 for gap, (a, b) in zip(gaps, pairwise(widths), strict=True))
    assert spread(centres, widths, gap=10) == pytest.approx(centres, abs=1e-6)


def test_topic_that_is_read_above_where_it_is_written_is_drawn_twice():
    builder = hr.StreamsBuilder()
    builder.stream("a").to("b")
    builder.stream("b").to("a")
    builder.stream("own").to("own")
    drawn = re.findall(r'class="topic"><title>(\S+): topic', svg(builder.build()._graph))
    assert sorted(drawn) == ["a", "a", "b", "own", "own"]


def test_notebooks_show_a_picture_with_its_own_style_that_changes_nothing_around_it():
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
    picture = ET.fromstring(builder.build()._repr_svg_())
    assert picture.get("class") == "headrace"
    [style] = picture.iter(f"{SVG}style")
    selectors = re.findall(r"(?:^|[{}])\s*([^{}@]+?)\s*{", style.text)
    assert [one for listed in selectors for one in listed.split(",") if not one.strip().startswith(".headrace")] == []
    titles = [title.text for title in picture.iter(f"{SVG}title")]
    assert [text for text in titles if text.endswith(": topic")] == ["in: topic", "out: topic"]


def test_topology_without_nodes_has_no_picture():
    assert hr.Topology()._repr_svg_() is None
    with pytest.raises(hr.TopologyError, match="no nodes"):
        hr.Topology().to_svg()


def overlap(one, other):
    return (
        abs(one.x - other.x) < (one.width + other.width) / 2 and abs(one.y - other.y) < (one.height + other.height) / 2
    )
