"""The pages in `docs/proof` are current: their numbers, plots, and the files, tests and pages that they name."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bench.__main__ import CASES as ON_SPARK
from bench.__main__ import PROCESS_CASES
from bench.report.cases import CASES
from bench.report.page import render
from bench.report.ratios import figures, ratios
from bench.report.writing import FOLDER, rendered
from conformance import counts

ROOT = Path(__file__).parents[2]
RESULTS = {
    "machine": {"cores": 2, "python": "3.11"},
    "cases": {
        "count": {"headrace": 90, "spark-native": 100, "spark-tws-row": 3},
        "kafka-count": {"headrace": 10, "headrace-cached": 20, "kafka-streams": 5, "kafka-streams-cached": 40},
        "latency": {"headrace one p50_ms": 30, "quix-streams one p50_ms": 15},
        "state-size": {"10 keys in store": 8, "20 keys in store": 4},
        "count against abcdef0": {"headrace": 6, "headrace-abcdef0": 3},
    },
    "details": {
        "kafka-count": {"cpu_us_per_record": {"headrace": 2.0, "kafka-streams": 6.0}},
        "latency": {
            "one sub-topology": {
                "headrace": {"p50_ms": 30, "p90_ms": 40, "p99_ms": 50, "cores_idle": 0.01},
                "quix-streams": {"p50_ms": 15, "p90_ms": 80, "p99_ms": 100, "cores_idle": 0.0},
                "kafka-streams": "not possible",
            }
        },
    },
}


def test_benchmarks_page_and_plots_are_up_to_date():
    plots = {f"plots/{path.name}" for path in (FOLDER / "plots").iterdir()}
    found = {name: (FOLDER / name).read_text() for name in {*plots, "benchmarks.md"}}
    assert found == rendered(), "run: python -m bench.report"


def test_conformance_page_is_up_to_date():
    assert counts.PAGE.read_text() == counts.page(), "run: python -m conformance.counts --update"


def test_every_benchmark_is_described():
    assert set(CASES) == {*ON_SPARK, *PROCESS_CASES}


def test_ratios_are_above_1_where_headrace_is_better_and_the_smallest_come_first():
    found = [
        (f"{one.first.case} {one.first.measure}: {one.first.contender} to {one.second.contender}", round(one.value, 2))
        for one in ratios(figures(RESULTS))
    ]
    assert found == [
        ("kafka-count rate: headrace to kafka-streams-cached", 0.25),
        ("kafka-count rate: headrace-cached to kafka-streams-cached", 0.5),
        ("latency p50_ms: headrace to quix-streams", 0.5),
        ("state-size rate: 20 keys in store to 10 keys in store", 0.5),
        ("count rate: headrace to spark-native", 0.9),
        ("kafka-count rate: headrace-cached to headrace", 2.0),
        ("kafka-count rate: headrace to kafka-streams", 2.0),
        ("latency p90_ms: headrace to quix-streams", 2.0),
        ("latency p99_ms: headrace to quix-streams", 2.0),
        ("count against abcdef0 rate: headrace to headrace-abcdef0", 2.0),
        ("kafka-count cpu_us_per_record: headrace to kafka-streams", 3.0),
        ("count rate: headrace to spark-tws-row", 30.0),
    ]


def test_page_shows_every_ratio_and_what_contenders_cannot_do():
    files = render(RESULTS)
    page = files["benchmarks.md"]
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == [
        "Below 1: 5 of 12 ratios",
        "1 and above: 7 of 12 ratios",
        "Case by case",
        "How the benchmarks measure",
    ]
    assert len(re.findall(r"^\| \*\*", page, re.MULTILINE)) == 12
    assert "- `kafka-streams`, one sub-topology: not possible." in page
    assert "python -m bench count --against abcdef0" in page
    values = [re.findall(r'class="value">(.+?)<', files[f"plots/{name}.svg"]) for name in ("below-1", "above-1")]
    assert list(map(len, values)) == [5, 7]


@pytest.mark.parametrize("plot", sorted((FOLDER / "plots").glob("*.svg")), ids=lambda path: path.stem)
def test_plots_are_whole_and_need_nothing_from_elsewhere(plot):
    picture = ET.fromstring(plot.read_text())
    assert picture.find("{http://www.w3.org/2000/svg}title").text
    assert "http" not in plot.read_text().replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.name)
def test_files_and_pages_that_the_pages_name_exist(page):
    text = page.read_text()
    named = re.findall(r"`((?:tests|bench|conformance)/[\w/.]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text)]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


def test_tests_that_the_crash_page_runs_exist():
    commands = re.findall(
        r"^\| `(?:\w+=\w+ )?python -m pytest ([^`]+)`", (FOLDER / "crashes.md").read_text(), re.MULTILINE
    )
    paths = [word for command in commands for word in command.split() if word.startswith("tests/")]
    assert len(commands) == 7
    assert [path for path in paths if not (ROOT / path).exists()] == []
