"""The pictures of the operators: every block runs as its page says, and drawings show each record at its place."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from marbles.drawing import draw
from marbles.layout import arrange
from marbles.pages import all_blocks
from marbles.run import execute
from marbles.transcript import split_block, transcript

from tests.docs.pages import ROOT

SVG = "{http://www.w3.org/2000/svg}"
BLOCKS = all_blocks()

COUNT = """
builder.stream("clicks").group_by_key().count().to_stream().to("counts")
inputs = [("clicks", "ann", "/", 1), ("clicks", "bob", "/", 6), ("clicks", "ann", "/a", 4), ("clicks", None, "/", 8)]
"""

SESSIONS = """
windows = hr.SessionWindows.of(ms(5), grace=ms(10))
builder.stream("clicks").group_by_key().windowed_by(windows).count().to_stream().to("visits")
inputs = [("clicks", "ann", "a", 2), ("clicks", "ann", "b", 6)]
"""

JOIN = """
left, right = builder.stream("left"), builder.stream("right")
left.join(right, lambda one, other: one + other, within=hr.JoinWindows.of(ms(5))).to("joined")
inputs = [("right", "k", "r", 3), ("left", "k", "l", 1)]
"""

CLOCK = """
class Beat(hr.Processor):
    def init(self, context):
        super().init(context)
        context.schedule(ms(10), hr.PunctuationType.WALL_CLOCK_TIME, self.beat)

    def beat(self, timestamp_ms):
        self.context.forward(hr.Record("beat", None))

    def process(self, record):
        pass

builder.stream("in").process(Beat).to("out")
inputs = [("in", "k", "<&>", 1), ms(10)]
"""


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page.relative_to(ROOT)}:{block.line}")
def test_every_block_runs_as_its_page_says(block):
    assert transcript(execute(block.code)) == block.transcript, "run: python docs/_extensions/record_marbles.py"


def test_no_block_is_overlooked():
    pages = [page.read_text() for page in (ROOT / "docs").rglob("*.md")]
    assert sum(len(re.findall(r"^```\{marbles\}", page, re.MULTILINE)) for page in pages) == len(BLOCKS)


def test_a_transcript_shows_results_and_dropped_records():
    assert transcript(execute(COUNT)).split("\n") == [
        "# clicks (ann, / @ 1)   ->  counts (ann, 1 @ 1)",
        "# clicks (bob, / @ 6)   ->  counts (bob, 1 @ 6)",
        "# clicks (ann, /a @ 4)  ->  counts (ann, 2 @ 4)",
        "# clicks (None, / @ 8)  ->  dropped: null key",
    ]


def test_a_transcript_shows_windows_with_their_ends_and_each_result_on_a_line():
    assert transcript(execute(SESSIONS)).split("\n") == [
        "# clicks (ann, a @ 2)  ->  visits (ann [2, 2], 1 @ 2)",
        "# clicks (ann, b @ 6)  ->  visits (ann [2, 2], None @ 2)",
        "#                          visits (ann [2, 6], 2 @ 6)",
    ]


def test_a_transcript_shows_the_wall_clock():
    assert transcript(execute(CLOCK)).split("\n") == [
        "# in (k, <&> @ 1)    ->  nothing",
        "# wall clock +10 ms  ->  out (beat, None @ 10)",
    ]


def test_the_transcript_of_a_block_is_its_last_group_of_comments():
    body = "# a comment\nx = 1\n\n# in (a, 1 @ 1)  ->  nothing\n#                    dropped: late\n"
    assert split_block(body) == (
        "# a comment\nx = 1",
        "# in (a, 1 @ 1)  ->  nothing\n#                    dropped: late",
    )


def test_marbles_stand_at_the_columns_of_their_timestamps():
    layout = arrange(execute(COUNT), "count()")
    center = {column.time_ms: column.center for column in layout.columns}
    assert list(center) == [1, 4, 6, 8]
    assert sorted(center.values()) == list(center.values())
    assert [(marble.mark.text, marble.x) for marble in layout.marbles] == [
        ("ann /", center[1]),
        ("bob /", center[6]),
        ("ann /a", center[4]),
        ("None /", center[8]),
        ("ann 1", center[1]),
        ("bob 1", center[6]),
        ("ann 2", center[4]),
    ]


def test_input_lanes_are_above_the_box_in_the_order_of_the_code_and_output_lanes_below():
    layout = arrange(execute(JOIN), "join()")
    assert [placed.lane.label for placed in layout.lanes] == ["left", "right", "joined"]
    left, right, joined = (placed.y for placed in layout.lanes)
    assert left < right < layout.box_top < layout.box_bottom < joined < layout.height


def test_marbles_of_one_lane_and_time_are_stacked_without_overlap():
    code = 'builder.stream("in").flat_map_values(str.split).to("out")\ninputs = [("in", "k", "a b c", 1)]'
    rows = [marble.y for marble in arrange(execute(code), "split").marbles if marble.mark.event.topic == "out"]
    assert [later - earlier >= 24 for earlier, later in pairwise(rows)] == [True, True]


def test_a_window_has_a_lane_from_its_start_to_its_end():
    layout = arrange(execute(SESSIONS), "sessions")
    columns = {column.time_ms: column for column in layout.columns}
    assert [(placed.lane.label, placed.left, placed.right) for placed in layout.lanes if placed.lane.window] == [
        ("[2, 2]", columns[2].left, columns[2].right),
        ("[2, 6]", columns[2].left, columns[6].right),
    ]


def test_a_drawing_is_well_formed_and_described_and_crosses_out_what_was_dropped():
    svg = ElementTree.fromstring(_with_namespace(draw(execute(COUNT), "count()", "picture")))
    assert svg.get("role") == "img"
    assert svg.get("aria-labelledby") == "picture-title picture-text"
    assert svg.find(f"{SVG}title").text == "count()"
    assert "4: clicks (None, / @ 8) gives dropped: null key" in svg.find(f"{SVG}desc").text
    [dropped] = [group for group in svg.iter(f"{SVG}g") if "dropped" in group.get("class")]
    assert ["".join(text.itertext()) for text in dropped.iter(f"{SVG}text")] == ["None /", "4", "null key"]
    assert dropped.find(f"{SVG}line").get("class") == "cross"


def test_a_drawing_escapes_values_and_marks_nulls_and_the_clock():
    svg = ElementTree.fromstring(_with_namespace(draw(execute(CLOCK), "a < b", "picture")))
    classes = [group.get("class") for group in svg.iter(f"{SVG}g")]
    assert classes == ["marble key-0", "marble clock", "marble key-1 null"]
    assert "k <&>" in ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def _with_namespace(svg: str) -> str:
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
