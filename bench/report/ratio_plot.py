"""Plots ratios on a logarithmic scale, as bars that begin at 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from bench.report.drawing import MARGIN, WIDTH, bar, line, plot, text
from bench.report.ratios import MEASURES, Ratio

_VALUES = 66
_LEFT, _RIGHT = MARGIN, WIDTH - MARGIN - _VALUES
_LABELS = _LEFT + 8
_ROW, _BAR, _GROUP = 38, 9, 34
_TIMES = "\N{MULTIPLICATION SIGN}"
_TICKS = tuple(step * 10.0**power for power in range(-4, 4) for step in (1, 2, 5))


def ratio_plot(title: str, groups: Sequence[tuple[str, Sequence[Ratio]]]) -> str:
    """One row per ratio, under the heading of its group; all ratios are below 1, or none is."""
    values = [ratio.value for _, listed in groups for ratio in listed]
    low, high = _bounds(values)

    def x(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * log(value / low) / log(high / low)

    rows: list[str] = []
    top = y = 76.0
    for heading, listed in groups:
        if not listed:
            continue
        rows.append(text(_LABELS, y + 20, heading, "group"))
        y += _GROUP
        for ratio in listed:
            style = "worse" if ratio.value < 1 else "better"
            rows.append(text(_LABELS, y + 13, label(ratio), soft=versus(ratio)))
            rows.append(bar(x(1), x(ratio.value), y + 19, _BAR, style))
            rows.append(text(WIDTH - MARGIN, y + 27, f"{ratio.value:.2f}{_TIMES}", "value"))
            y += _ROW
    axis = [part for tick in _TICKS if low <= tick <= high for part in _tick(tick, x(tick), top, y)]
    return plot(title, y + MARGIN, [*axis, *rows])


def label(ratio: Ratio) -> str:
    figure = ratio.first
    setting = f", {figure.setting}" if figure.setting else ""
    return f"{figure.case}{setting}: {MEASURES[figure.measure][0]}"


def versus(ratio: Ratio) -> str:
    return f"{ratio.first.contender} vs {ratio.second.contender}"


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """The nearest ticks around all values and 1."""
    low = max(tick for tick in _TICKS if tick <= min([1.0, *values]))
    high = min(tick for tick in _TICKS if tick >= max([1.0, *values]))
    return (low, high) if low < high else (0.5, 2)


def _tick(tick: float, x: float, top: float, bottom: float) -> list[str]:
    return [line(x, top - 4, bottom, "one" if tick == 1 else "grid"), text(x, top - 10, f"{tick:g}{_TIMES}", "tick")]
