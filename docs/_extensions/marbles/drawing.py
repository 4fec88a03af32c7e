"""Draws a layout as SVG. Colours come from `_static/marbles.css`, so one picture serves light and dark pages."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from marbles.layout import MARBLE_HEIGHT, MARGIN, Layout, Marble, PlacedLane, arrange
from marbles.run import Run
from marbles.transcript import event_text, result_texts, value_text

COLOURS = 5


def draw(run: Run, title: str, identifier: str) -> str:
    """Draws a run. The identifier makes the ids of this picture unique on its page."""
    layout = arrange(run, title)
    keys = _key_colours(run)
    parts = [
        f'<svg class="marbles" viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" width="{layout.width * 1.3:.0f}" '
        f'style="min-width: {layout.width * 0.76:.0f}px" role="img" '
        f'aria-labelledby="{identifier}-title {identifier}-text">',
        f'<title id="{identifier}-title">{escape(title)}</title>',
        f'<desc id="{identifier}-text">{escape(_description(run))}</desc>',
        *_guides(layout),
        *(line for placed in layout.lanes for line in _lane(placed)),
        *_box(layout),
        *(line for marble in layout.marbles for line in _marble(marble, keys)),
        "</svg>",
    ]
    return "\n".join(parts)


def _description(run: Run) -> str:
    included = run.window_end_included
    return ". ".join(
        f"{step.number}: {event_text(step.input, end_included=included)} gives "
        f"{', '.join(result_texts(step, end_included=included))}"
        for step in run.steps
    )


def _key_colours(run: Run) -> dict[str, int]:
    """A colour for each key, in the order of their first records."""
    events = [event for step in run.steps for event in (step.input, *step.outputs) if not event.is_clock]
    keys = dict.fromkeys(value_text(event.key) for event in events)
    return {key: place % COLOURS for place, key in enumerate(keys)}


def _guides(layout: Layout) -> Iterator[str]:
    """A vertical line for each time, and the time axis below."""
    bottom = layout.lanes[-1].bottom
    used = {marble.x for marble in layout.marbles}
    for column in layout.columns:
        if column.center in used:
            yield _line("guide", column.center, MARGIN, column.center, bottom + 4)
        yield _text("tick", column.center, bottom + 17, str(column.time_ms), anchor="middle")
    yield _text("tick", layout.gutter - 8, bottom + 17, "ms", anchor="end")


def _lane(placed: PlacedLane) -> Iterator[str]:
    lane = placed.lane
    label = "label" if lane.window is None else "label window-label"
    if lane.is_heading:
        yield _text(label, MARGIN, placed.y + 4, lane.label)
        return
    yield _text(label, MARGIN, placed.y + 4, lane.label)
    if lane.window is None:
        yield _line("lane", placed.left, placed.y, placed.right - 5, placed.y)
        x, y = placed.right, placed.y
        yield f'<path class="arrow" d="M{x:.1f} {y:.1f}l-8 -4v8z"/>'
        return
    top = placed.y - MARBLE_HEIGHT / 2 - 3
    yield (
        f'<rect class="window" x="{placed.left + 2:.1f}" y="{top:.1f}" width="{placed.right - placed.left - 4:.1f}" '
        f'height="{placed.bottom - top - 3:.1f}" rx="6"/>'
    )


def _box(layout: Layout) -> Iterator[str]:
    height = layout.box_bottom - layout.box_top
    yield (
        f'<rect class="operator" x="{MARGIN}" y="{layout.box_top:.1f}" width="{layout.width - 2 * MARGIN:.1f}" '
        f'height="{height:.1f}" rx="8"/>'
    )
    for number, line in enumerate(layout.box_lines):
        yield _text("operator-text", layout.width / 2, layout.box_top + 19 + 17 * number, line, anchor="middle")


def _marble(marble: Marble, keys: dict[str, int]) -> Iterator[str]:
    mark, x, y, width = marble.mark, marble.x, marble.y, marble.width
    colour = "clock" if mark.event.is_clock else f"key-{keys[value_text(mark.event.key)]}"
    state = " null" if mark.event.value is None else ""
    state += " dropped" if mark.crossed_out else ""
    half = MARBLE_HEIGHT / 2
    left, top = x - width / 2, y - half
    yield f'<g class="marble {colour}{state}">'
    yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{MARBLE_HEIGHT}" rx="{half:.0f}"/>'
    key = f'<tspan class="key">{escape(mark.key_text)}</tspan> ' if mark.key_text else ""
    yield (
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{key}<tspan>{escape(mark.value_text)}</tspan></text>'
    )
    if mark.crossed_out:
        yield _line("cross", left + 4, y + half - 3, left + width - 4, top + 3)
    yield f'<circle class="badge" cx="{left + 3:.1f}" cy="{top + 1:.1f}" r="7"/>'
    yield _text("number", left + 3, top + 4, str(mark.number), anchor="middle")
    if mark.notes:
        yield _text("note", x, y + half + 11, ", ".join(mark.notes), anchor="middle")
    yield "</g>"


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(kind: str, x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
