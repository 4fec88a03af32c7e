"""The benchmarks page in Markdown, and its plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.report.cases import CASES, command, contender_version, described
from bench.report.figure_plot import latency_plot, rate_plot
from bench.report.ratio_plot import ratio_plot
from bench.report.ratios import MEASURES, Figure, Ratio, figures, impossible, ratios

PLOTS = "plots"

_INTRODUCTION = """\
# Benchmarks

This page and its plots are generated from `bench/results.json` by `python -m bench.report`; a test checks that they
are current. A ratio above 1 means that Headrace is better: it processes more records per second, or takes less time or
fewer cores. The ratios below 1 come first. Contenders of a case take turns in one run on one machine, so compare
figures within a case, not between cases. [How the benchmarks measure](#how-the-benchmarks-measure) says what counts.
"""

_METHOD = """\
## How the benchmarks measure

- The figures are of a machine with {cores} cores and Python {python}. Other machines give other figures and ratios.
- A case runs its contenders in turns, so that a busy machine affects all alike. A rate is the median over all batches
  after warm-up.
- The Kafka cases read the output of every contender and compare it with the right counts.
- `bench/__main__.py` has the settings of the Spark session that contenders share, `bench/kafka_contenders.py` how the
  programs of the Kafka cases are started.

```
make bench                          # all cases; writes bench/results.json and this page
make bench-quick                    # all cases with less input and fewer rounds
.venv/bin/python -m bench latency   # one case
.venv/bin/python -m bench.report    # only this page, from bench/results.json
```

All cases need a JDK 17 or newer. Those on Kafka also need Maven: they start a broker and a Java program, and install
Quix Streams into a virtual environment of its own.
"""

# Figures that are not compared, in words.
_DETAILS = {
    "batch_ms": "{} ms a batch",
    "restore_entries_per_s": "{} entries/s when the store is restored",
    "disk_to_live": "state directory {} times the size of the live entries",
    "worker_mb": "{} MB private memory of the largest worker",
    "late_dropped": "Late readings dropped",
    "final_results": "Final results",
    "worker_mb_by_keys": "Private memory of the largest worker in MB, by number of keys with a clock",
}


def render(results: Mapping[str, Any]) -> dict[str, str]:
    """All files of the page by their path in `docs/proof`: the page and its plots."""
    found = figures(results)
    every = ratios(found)
    below = [ratio for ratio in every if ratio.value < 1]
    above = [ratio for ratio in every if ratio.value >= 1]
    files = {
        f"{PLOTS}/below-1.svg": ratio_plot("Below 1: Headrace is slower or takes more", _grouped(below)),
        f"{PLOTS}/above-1.svg": ratio_plot(
            "1 and above: Headrace is as fast or faster, or takes less", _grouped(above)
        ),
    }
    cases = sorted(results["cases"], key=_position)
    for case in cases:
        files[f"{PLOTS}/{_file(case)}.svg"] = _plot(case, [figure for figure in found if figure.case == case])
    parts = [
        _INTRODUCTION,
        f"## Below 1: {len(below)} of {len(every)} ratios\n",
        _picture("below-1", "Ratios below 1"),
        _table(below),
        f"## 1 and above: {len(above)} of {len(every)} ratios\n",
        _picture("above-1", "Ratios of 1 and above"),
        _table(above),
        "## Case by case\n",
        *(_section(case, results, found) for case in cases),
        _METHOD.format(**results["machine"]),
    ]
    return {"benchmarks.md": "\n".join(parts), **files}


def _position(case: str) -> tuple[bool, int, str]:
    """Cases in the order of their descriptions, comparisons with earlier versions last."""
    name, _, commit = case.partition(" against ")
    return bool(commit), list(CASES).index(name), commit


def _grouped(listed: Sequence[Ratio]) -> list[tuple[str, list[Ratio]]]:
    return [
        ("Against other software", [ratio for ratio in listed if not ratio.own]),
        ("Headrace against itself: settings, sizes, earlier versions", [ratio for ratio in listed if ratio.own]),
    ]


def _table(listed: Sequence[Ratio]) -> str:
    lines = ["| ratio | case | measure | Headrace | compared with |", "|---|---|---|---|---|"]
    for _, group in _grouped(listed):
        lines += map(_row, group)
    return "\n".join(lines) + "\n"


def _row(ratio: Ratio) -> str:
    first = ratio.first
    setting = f", {first.setting}" if first.setting else ""
    case = f"[{first.case}](#{_anchor(described(first.case).title)}){setting}"
    sides = " | ".join(f"{figure.contender}: {_amount(figure)}" for figure in ratio)
    return f"| **{ratio.value:.2f}** | {case} | {MEASURES[first.measure][0]} | {sides} |"


def _amount(figure: Figure) -> str:
    unit = MEASURES[figure.measure][1]
    return f"{figure.value:,} {unit}"


def _section(case: str, results: Mapping[str, Any], found: Sequence[Figure]) -> str:
    words = described(case)
    run = results.get("runs", {}).get(case, {})
    names = dict.fromkeys(figure.contender for figure in found if figure.case == case)
    versions = dict.fromkeys(contender_version(name, run) for name in names)
    lines = [f"### {words.title}", "", words.text, "", _picture(_file(case), words.title)]
    lines += [f"- {what}: {reason}." for what, reason in impossible(results, case).items()]
    lines += _other_figures(results.get("details", {}).get(case, {}))
    lines.append(f"- Versions: {', '.join(versions)}.")
    if run:
        lines.append(f"- Measured on {run['date']}.")
    return "\n".join([*lines, f"- Repeat it: `{command(case)}`", ""])


def _other_figures(detail: Mapping[str, Any]) -> list[str]:
    """Figures that are not compared: one line for each list of numbers."""
    return [
        f"- {_DETAILS.get(name, name)}: {', '.join(_in_words(*item) for item in values.items())}."
        for name, values in detail.items()
        if isinstance(values, dict) and name != "cpu_us_per_record" and not name.startswith("ratio_")
        if all(isinstance(value, int | float) for value in values.values())
    ]


def _in_words(name: str, value: float) -> str:
    if name in _DETAILS:
        return _DETAILS[name].format(f"{value:,}")
    return f"{int(name):,} keys: {value:,}" if name.isdigit() else f"{name} {value:,}"


def _plot(case: str, found: Sequence[Figure]) -> str:
    title = described(case).title
    if case.startswith("latency"):
        return latency_plot(title, found)
    return rate_plot(f"{title}, records per second", [figure for figure in found if figure.measure == "rate"])


def _picture(name: str, description: str) -> str:
    return f"![{description}]({PLOTS}/{name}.svg)\n"


def _file(case: str) -> str:
    return case.replace(" ", "-")


def _anchor(heading: str) -> str:
    return "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -").replace(" ", "-")
