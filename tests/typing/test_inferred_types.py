"""Chained calls keep their types for the type checker, and mistakes are found by it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def mypy(file):
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(HERE / file)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_chained_calls_are_inferred_as_written():
    checked = mypy("chains.py")
    assert checked.returncode == 0, checked.stdout


def test_mistakes_are_refused_for_the_right_reason():
    lines = (HERE / "refused.py").read_text().splitlines()
    expected = {number: line.partition("  # ")[2] for number, line in enumerate(lines, 1) if "  # " in line}
    found = re.findall(r"refused\.py:(\d+): error: (.*)", mypy("refused.py").stdout)
    assert sorted({int(number) for number, _ in found}) == sorted(expected)
    reasons = {number: " | ".join(said for line, said in found if int(line) == number) for number in expected}
    assert {number: reason in reasons[number] for number, reason in expected.items()} == dict.fromkeys(
        expected, True
    ), reasons
