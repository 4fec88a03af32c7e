"""The pieces of a topology's picture as SVG, and how much room each needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

from headrace._graph.drawing.labels import kind, subtitle, title
from headrace._graph.drawing.layout import Box, Point
from headrace._graph.nodes import DynamicSink, Node, Sink, Source

TOPIC_HEIGHT = 32.0

_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="arrow" d="M0,0.5 L8,4 L0,7.5 z"/></marker></defs>'
)


def drawing(left: float, width: float, height: float, parts: Iterable[str], scale: float = 1) -> str:
    box = f'viewBox="{left:.0f} 0 {width:.0f} {height:.0f}"'
    size = f'{box} width="{width * scale:.0f}" height="{height * scale:.0f}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="headrace" role="img" {size}>'
    return "\n".join([opening, _ARROW, *parts, "</svg>"])


def background(left: float, width: float, height: float) -> str:
    return _rect(Box(left + width / 2, height / 2, width - 1, height - 1), radius=14)


def topic_size(name: str) -> tuple[float, float]:
    return _text_width(name) + 36, TOPIC_HEIGHT


def topic(name: str, box: Box, *, internal: bool) -> str:
    style, hint = ("repartition", "repartition topic") if internal else ("topic", "topic")
    label = f'<text class="name" x="{box.x:.1f}" y="{box.y + 4.5:.1f}">{escape(name)}</text>'
    return f'<g class="{style}"><title>{escape(name)}: {hint}</title>{_rect(box, radius=box.height / 2)}{label}</g>'


def frame(text: str, box: Box) -> str:
    x, y = _corner(box)
    return f'<g class="frame">{_rect(box, radius=14)}<text x="{x + 16:.1f}" y="{y + 24:.1f}">{escape(text)}</text></g>'


def node_size(node: Node) -> tuple[float, float]:
    stores = [_store_width(store) + 16 for store in _stores(node)]
    width = max([120.0, _text_width(title(node)) + 32, len(subtitle(node)) * 6.1 + 28, *stores])
    return width, 48.0 + 24 * len(stores) + (4 if stores else 0)


def node(node: Node, box: Box) -> str:
    _, top = _corner(box)
    texts = (
        f'<text class="name" x="{box.x:.1f}" y="{top + 20:.1f}">{escape(title(node))}</text>'
        f'<text class="kind" x="{box.x:.1f}" y="{top + 36:.1f}">{escape(subtitle(node))}</text>'
    )
    stores = "".join(_store(name, box.x, top + 57 + 24 * index) for index, name in enumerate(_stores(node)))
    hint = escape(f"{node.name}: {kind(node)}")
    return f'<g class="{_style(node)}"><title>{hint}</title>{_rect(box, radius=8)}{texts}{stores}</g>'


def edge(start: Box, end: Box, bends: Sequence[Point]) -> str:
    """A smooth line from the bottom of one box to the top of another."""
    points = [(start.x, start.y + start.height / 2), *bends, (end.x, end.y - end.height / 2)]
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        pull = max(12.0, abs(y2 - y1) / 2)
        path += f" C{x1:.1f},{y1 + pull:.1f} {x2:.1f},{y2 - pull:.1f} {x2:.1f},{y2:.1f}"
    return f'<path class="edge" d="{path}" marker-end="url(#arrow)"/>'


def _style(node: Node) -> str:
    if isinstance(node, Source):
        return "source"
    if isinstance(node, Sink | DynamicSink):
        return "sink"
    return "stateful" if node.stores else "step"


def _stores(node: Node) -> tuple[str, ...]:
    return (*node.stores, *node.global_stores)


def _store(name: str, x: float, y: float) -> str:
    """A store: a rounded box with a small cylinder and the name."""
    box = Box(x, y, _store_width(name), 20)
    left, _ = _corner(box)
    cylinder = f'<path d="M{left + 11:.1f},{y - 4:.1f} v8 a5,2.2 0 0 0 10,0 v-8 a5,2.2 0 0 0 -10,0 a5,2.2 0 0 0 10,0"/>'
    label = f'<text class="name" x="{left + 27:.1f}" y="{y + 4.5:.1f}">{escape(name)}</text>'
    return f'<g class="store">{_rect(box, radius=10)}{cylinder}{label}</g>'


def _store_width(name: str) -> float:
    return _text_width(name) + 42


def _rect(box: Box, *, radius: float) -> str:
    x, y = _corner(box)
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius:.0f}"/>'


def _corner(box: Box) -> Point:
    return box.x - box.width / 2, box.y - box.height / 2


def _text_width(text: str) -> float:
    return sum(9.4 if letter.isupper() else 7.4 for letter in text)
