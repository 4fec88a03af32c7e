"""Chained calls keep their types for the type checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_chained_calls_are_inferred_as_written():
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(Path(__file__).with_name("chains.py"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
