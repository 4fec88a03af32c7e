"""Plots the figures of one case as bars that begin at 0: throughput, or percentiles of latency."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.drawing import MARGIN, WIDTH, bar, plot, text
from bench.report.ratios import Figure

_NAMES, _VALUES = 190, 145
_LEFT, _RIGHT = MARGIN + _NAMES, WIDTH - MARGIN - _VALUES
_ROW, _BAR, _GROUP = 28, 14, 32
_PERCENTILES = ("p50_ms", "p90_ms", "p99_ms")


def rate_plot(title: str, figures: Sequence[Figure]) -> str:
    """One bar for each contender, under a heading for each setting of the case."""
    highest = max(figure.value for figure in figures)
    rows: list[str] = []
    y = 52.0
    for setting in dict.fromkeys(figure.setting for figure in figures):
        if setting:
            rows.append(text(MARGIN, y + 20, setting, "group"))
            y += _GROUP
        for figure in figures:
            if figure.setting == setting:
                rows += _row(figure.contender, [figure.value], highest, f"{figure.value:,.0f}/s", y)
                y += _ROW
    return plot(title, y + MARGIN - 8, rows)


def latency_plot(title: str, figures: Sequence[Figure]) -> str:
    """One bar for each contender and number of sub-topologies: the median, and lighter, two higher percentiles."""
    shown = [figure for figure in figures if figure.measure in _PERCENTILES]
    highest = max(figure.value for figure in shown)
    rows: list[str] = [text(MARGIN, 58, "median, then lighter: 90th and 99th percentile, in ms", "soft")]
    y = 66.0
    for setting in dict.fromkeys(figure.setting for figure in shown):
        rows.append(text(MARGIN, y + 20, setting, "group"))
        y += _GROUP
        for name in dict.fromkeys(figure.contender for figure in shown if figure.setting == setting):
            found = {figure.measure: figure.value for figure in shown if figure[1::2] == (setting, name)}
            values = [found[measure] for measure in _PERCENTILES]
            rows += _row(name, values, highest, " / ".join(f"{value:,.0f}" for value in values), y)
            y += _ROW
    return plot(title, y + MARGIN - 8, rows)


def _row(name: str, values: Sequence[float], highest: float, shown: str, y: float) -> list[str]:
    """A name, a bar to each value from the largest to the smallest, and the values in words."""
    style = "other" if name.startswith(("spark", "kafka", "quix")) else "better"
    faint = ("", " p90", " p99")
    bars = [
        bar(_LEFT, _LEFT + (_RIGHT - _LEFT) * value / highest, y + 6, _BAR, style + faint[index])
        for index, value in enumerate(values)
    ]
    return [text(MARGIN, y + 18, name), *reversed(bars), text(WIDTH - MARGIN, y + 18, shown, "value")]
