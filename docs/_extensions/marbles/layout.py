"""Where everything goes. Time runs from left to right: each timestamp has a column, as wide as its widest marble.

Marbles of one lane with the same timestamp are stacked in the order in which they were processed.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from marbles.lanes import Lane, Mark, input_lanes, output_lanes
from marbles.run import FOREVER_MS, Run

CHARACTER = 7.25  # the width of a character of the monospaced font, at 12 px
MARBLE_HEIGHT = 24
ROW_HEIGHT = 36
NOTE_HEIGHT = 13
HEADING_HEIGHT = 24
BOX_LINE_HEIGHT = 17
MARGIN = 6
AXIS_HEIGHT = 26


@dataclass(frozen=True)
class Column:
    """The place of one point in time."""

    time_ms: int
    left: float
    right: float

    @property
    def center(self) -> float:
        """Where the marbles of this time are."""
        return (self.left + self.right) / 2


@dataclass(frozen=True)
class Marble:
    """A mark and its place; `x` and `y` are its center."""

    mark: Mark
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class PlacedLane:
    """A lane, the vertical center of its first row, and from where to where its line or window is drawn."""

    lane: Lane
    y: float
    left: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Layout:
    """A picture whose parts have their places."""

    width: float
    height: float
    gutter: float
    columns: tuple[Column, ...]
    lanes: tuple[PlacedLane, ...]
    marbles: tuple[Marble, ...]
    box_lines: tuple[str, ...]
    box_top: float
    box_bottom: float


def arrange(run: Run, title: str) -> Layout:
    """Arranges a run: input lanes, the operator's box, output lanes, the time axis."""
    inputs, outputs = input_lanes(run), output_lanes(run)
    lanes = inputs + outputs
    gutter = 14 + max(len(lane.label) for lane in lanes) * CHARACTER
    columns = _columns(lanes, gutter)
    by_time = {column.time_ms: column for column in columns}
    width = columns[-1].right + 16
    box_lines = tuple(textwrap.wrap(title, max(20, int((width - 24) / CHARACTER))))

    placed: list[PlacedLane] = []
    marbles: list[Marble] = []

    def place(lane: Lane, top: float) -> float:
        y = top + (HEADING_HEIGHT if lane.is_heading else ROW_HEIGHT) / 2
        rows: Counter[int] = Counter()
        noted = NOTE_HEIGHT if any(mark.notes for mark in lane.marks) else 0
        for mark in lane.marks:
            time_ms = mark.event.timestamp_ms
            marble_y = y + rows[time_ms] * (ROW_HEIGHT - 6 + noted)
            marbles.append(Marble(mark, by_time[time_ms].center, marble_y, _marble_width(mark)))
            rows[time_ms] += 1
        stacked = max(rows.values(), default=1) - 1
        bottom = top + (HEADING_HEIGHT if lane.is_heading else ROW_HEIGHT + noted) + stacked * (ROW_HEIGHT - 6 + noted)
        left, right = _extent(lane, by_time, gutter, width, end_included=run.window_end_included)
        placed.append(PlacedLane(lane, y, left, right, bottom))
        return bottom

    bottom: float = MARGIN
    for lane in inputs:
        bottom = place(lane, bottom)
    box_top = bottom + 6
    box_bottom = box_top + 14 + BOX_LINE_HEIGHT * len(box_lines)
    bottom = box_bottom + 6
    for lane in outputs:
        bottom = place(lane, bottom)
    return Layout(
        width,
        bottom + AXIS_HEIGHT,
        gutter,
        tuple(columns),
        tuple(placed),
        tuple(marbles),
        box_lines,
        box_top,
        box_bottom,
    )


def _columns(lanes: Iterable[Lane], start: float) -> list[Column]:
    """A column for each timestamp and each bound of a window; more time between two is a wider gap, up to a limit."""
    widths: dict[int, float] = {}
    for lane in lanes:
        for mark in lane.marks:
            needed = max(_marble_width(mark) + 10, *(len(note) * 5.8 + 6 for note in mark.notes), 0)
            _widen(widths, mark.event.timestamp_ms, needed)
        if lane.window is not None:
            for bound_ms in (lane.window.start_ms, lane.window.end_ms):
                _widen(widths, bound_ms, 8)
    columns: list[Column] = []
    right, before = start, None
    for time_ms in sorted(time_ms for time_ms in widths if time_ms < FOREVER_MS):
        left = right + (0 if before is None else min(14, 4 * math.log2(time_ms - before)))
        right = left + max(widths[time_ms], len(str(time_ms)) * 6.5 + 8)
        columns.append(Column(time_ms, left, right))
        before = time_ms
    return columns


def _widen(widths: dict[int, float], time_ms: int, needed: float) -> None:
    widths[time_ms] = max(widths.get(time_ms, 0), needed)


def _marble_width(mark: Mark) -> float:
    return max(MARBLE_HEIGHT, len(mark.text) * CHARACTER + 16)


def _extent(
    lane: Lane, by_time: dict[int, Column], gutter: float, width: float, *, end_included: bool
) -> tuple[float, float]:
    """From where to where a lane is drawn: a topic all along, a window from its start to its end."""
    if lane.window is None:
        return gutter, width - MARGIN
    left = by_time[lane.window.start_ms].left
    if lane.window.end_ms >= FOREVER_MS:
        return left, width - MARGIN
    end = by_time[lane.window.end_ms]
    return left, end.right if end_included else end.left
