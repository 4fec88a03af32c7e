"""The layout of a drawing: boxes in layers from top to bottom, few crossings, straight lines where possible."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TypeVar

N = TypeVar("N", str, int)
Edge = tuple[str, str]
Point = tuple[float, float]

_COLUMN_GAP = 26.0
_ROW_GAP = 34.0
_BEND_WIDTH = 18.0
_SWEEPS = 12


@dataclass(frozen=True)
class Box:
    """A rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> Box:
        return Box(self.x + x, self.y + y, self.width, self.height)


@dataclass(frozen=True)
class Drawing:
    """Boxes by name, the points that edges pass through, and the total size; 0, 0 is the top left corner."""

    boxes: dict[str, Box]
    bends: dict[Edge, list[Point]]
    width: float
    height: float


def layered(
    sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge], *, lowest: Collection[str] = ()
) -> Drawing:
    """Lays out an acyclic graph. An edge over several layers gets bends, so that it passes beside their boxes.

    The nodes in `lowest`, which must have no children, are all in the last layer.
    """
    rows, lines, chains = _with_bends(_layers(sizes, edges, lowest), edges)
    widths = {name: sizes[name][0] if name in sizes else _BEND_WIDTH for row in rows for name in row}
    above: dict[str, list[str]] = {name: [] for name in widths}
    below: dict[str, list[str]] = {name: [] for name in widths}
    for upper, lower in lines:
        below[upper].append(lower)
        above[lower].append(upper)
    _reduce_crossings(rows, above, below)
    x = _columns(rows, widths, above, below)
    left = min(x[name] - widths[name] / 2 for name in x)
    boxes: dict[str, Box] = {}
    top = 0.0
    for row in rows:
        height = max(sizes[name][1] for name in row if name in sizes)
        for name in row:
            boxes[name] = Box(x[name] - left, top + height / 2, *sizes.get(name, (0.0, height)))
        top += height + _ROW_GAP
    bends = {edge: [point for name in chain for point in _ends(boxes[name])] for edge, chain in chains.items()}
    width = max(x[name] + widths[name] / 2 for name in x) - left
    return Drawing({name: boxes[name] for name in sizes}, bends, width, top - _ROW_GAP)


def spread(wanted: Sequence[float], widths: Sequence[float], gap: float = _COLUMN_GAP) -> list[float]:
    """Centres in the same order, as near to the wanted ones as the widths allow (pool adjacent violators)."""
    offsets = [0.0]
    for left, right in pairwise(widths):
        offsets.append(offsets[-1] + (left + right) / 2 + gap)
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=False):
        total, count = want - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            more, others = pools.pop()
            total, count = total + more, count + others
        pools.append((total, count))
    shifts = [total / count for total, count in pools for _ in range(count)]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=False)]


def depths(names: Sequence[N], edges: Sequence[tuple[N, N]]) -> dict[N, int]:
    """The number of the layer of each node, below the layers of its parents. An edge that closes a cycle is ignored."""
    children: dict[N, list[N]] = {name: [] for name in names}
    for upper, lower in edges:
        if upper not in _descendants(lower, children):
            children[upper].append(lower)
    depth = dict.fromkeys(names, 0)
    for _ in names:
        for upper, lowers in children.items():
            for lower in lowers:
                depth[lower] = max(depth[lower], depth[upper] + 1)
    return depth


def _descendants(name: N, children: Mapping[N, list[N]]) -> set[N]:
    found, waiting = {name}, [name]
    while waiting:
        new = set(children[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def _layers(
    sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge], lowest: Collection[str]
) -> list[list[str]]:
    depth = depths(list(sizes), edges)
    last = max(depth.values())
    depth.update(dict.fromkeys(lowest, last))
    return [[name for name in sizes if depth[name] == layer] for layer in range(last + 1)]


def _with_bends(
    rows: list[list[str]], edges: Sequence[Edge]
) -> tuple[list[list[str]], list[Edge], dict[Edge, list[str]]]:
    """Adds a dummy node to every row that an edge crosses.

    Returns the rows, the edges split at the dummy nodes, and the dummy nodes of each edge.
    """
    layer = {name: index for index, row in enumerate(rows) for name in row}
    lines: list[Edge] = []
    chains: dict[Edge, list[str]] = {}
    for edge in edges:
        upper, lower = edge
        chains[edge] = [f"{upper}>{lower}@{row}" for row in range(layer[upper] + 1, layer[lower])]
        for row, name in enumerate(chains[edge], start=layer[upper] + 1):
            rows[row].append(name)
        lines += pairwise([upper, *chains[edge], lower])
    return rows, lines, chains


def _reduce_crossings(rows: list[list[str]], above: Mapping[str, list[str]], below: Mapping[str, list[str]]) -> None:
    for sweep in range(_SWEEPS):
        near, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for fixed, row in pairwise(order):
            fixed_index = {name: index for index, name in enumerate(fixed)}
            own_index = {name: index for index, name in enumerate(row)}
            row.sort(
                key=lambda name: fmean(fixed_index[other] for other in near[name]) if near[name] else own_index[name]
            )


def _columns(
    rows: list[list[str]],
    widths: Mapping[str, float],
    above: Mapping[str, list[str]],
    below: Mapping[str, list[str]],
) -> dict[str, float]:
    x: dict[str, float] = {}
    for row in rows:
        x.update(zip(row, spread([0.0] * len(row), [widths[name] for name in row]), strict=True))
    for sweep in range(2 * _SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [fmean(x[other] for other in near[name]) if near[name] else x[name] for name in row]
            x.update(zip(row, spread(wanted, [widths[name] for name in row]), strict=True))
    return x


def _ends(box: Box) -> tuple[Point, Point]:
    return (box.x, box.y - box.height / 2), (box.x, box.y + box.height / 2)
