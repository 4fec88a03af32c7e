"""Notebooks on the test driver need nothing that Pyodide, the Python of browsers, does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.notebooks import FOLDER, ROOT

# Modules that Pyodide 314 does not have; numpy, msgspec, pyarrow and matplotlib it has. It has no threads either.
RESTRICTED = """
import sys, threading

LACKING = {"lmdb", "grp", "pwd", "resource"}

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LACKING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def start(thread):
    raise RuntimeError("can't start new thread")

for name in LACKING:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Lacking())
threading.Thread.start = start
"""


@pytest.mark.parametrize("name", ["tour", "sensors"])
def test_notebook_runs_without_what_pyodide_lacks(name):
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    code = "\n".join([RESTRICTED, *cells])
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
