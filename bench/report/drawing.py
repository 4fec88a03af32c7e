"""Pieces of a plot as SVG, with colours for light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 760
MARGIN = 24

_STYLE = """
.plot { color-scheme: light dark; --card: #ffffff; --ink: #1d2733; --soft: #5d6975; --line: #d9dee4; --other: #aab4bf;
  --better: #2a6fbb; --worse: #c2661a; font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
@media (prefers-color-scheme: dark) { .plot { --card: #1d232a; --ink: #e6eaee; --soft: #a3aeb9; --line: #3a444f;
  --other: #6b7783; --better: #6aa9ee; --worse: #eb9a52; } }
.plot > .card { fill: var(--card); stroke: var(--line); } .plot text { fill: var(--ink); }
.plot .title { font-size: 16px; font-weight: 600; } .plot .group { font-weight: 600; }
.plot .soft { fill: var(--soft); } .plot .value { font-weight: 600; text-anchor: end; }
.plot .tick { fill: var(--soft); font-size: 11px; text-anchor: middle; } .plot .grid { stroke: var(--line); }
.plot .one { stroke: var(--ink); stroke-width: 1.5; } .plot .better { fill: var(--better); }
.plot .worse { fill: var(--worse); } .plot .other { fill: var(--other); }
.plot .p90 { opacity: 0.55; } .plot .p99 { opacity: 0.3; }
"""


def plot(title: str, height: float, parts: Sequence[str]) -> str:
    """A whole SVG file: a card with a title and the given parts below it."""
    size = f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" {size}>'
    card = f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="12"/>'
    head = [f"<title>{escape(title)}</title>", f"<style>{_STYLE}</style>", card, text(MARGIN, 36, title, "title")]
    return "\n".join([opening, *head, *parts, "</svg>\n"])


def text(x: float, y: float, content: str, style: str = "", *, soft: str = "") -> str:
    """A line of text, with a part in a softer colour after it."""
    after = f'<tspan class="soft" dx="8">{escape(soft)}</tspan>' if soft else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(content)}{after}</text>'


def bar(start: float, end: float, y: float, height: float, style: str) -> str:
    left, width = min(start, end), max(abs(end - start), 1.0)
    return f'<rect class="{style}" x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.0f}" rx="2"/>'


def line(x: float, top: float, bottom: float, style: str) -> str:
    return f'<path class="{style}" d="M{x:.1f},{top:.1f} V{bottom:.1f}"/>'
