"""Executes the notebooks in `docs/notebooks`; `python -m tests.support.notebooks [name ...]` saves their new output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "notebooks"
_WITHIN_S = 600


def execute(path):
    """Runs a notebook in a kernel of its own, with the library of this tree; a cell that fails raises its error."""
    notebook = nbformat.read(path, as_version=4)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    options = {"record_timing": False, "coalesce_streams": True, "resources": {"metadata": {"path": FOLDER}}}
    NotebookClient(notebook, timeout=_WITHIN_S, **options).execute(env=environment)
    notebook.metadata.language_info = {"name": "python"}
    for cell in _code_cells(notebook):
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def shown(notebook):
    """What a reader sees below each cell, as text: printed lines, results, pictures of topologies; but no plots."""
    return {cell.source: [_text(output) for output in cell.outputs] for cell in _code_cells(notebook)}


def _code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _text(output):
    if output.output_type == "stream":
        return output.text
    assert output.output_type in ("execute_result", "display_data"), output
    return {kind: content for kind, content in output.data.items() if kind in ("text/plain", "image/svg+xml")}


def main(names):
    for path in sorted(FOLDER.glob("*.ipynb")):
        if path.stem in names or not names:
            nbformat.write(execute(path), path)
            print(f"Executed {path.relative_to(ROOT)}.")


if __name__ == "__main__":
    main(sys.argv[1:])
