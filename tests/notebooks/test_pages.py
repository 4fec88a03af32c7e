"""The site shows a notebook as Markdown: text, code and output."""

from __future__ import annotations

import json
import runpy

import pytest

from tests.support.notebooks import FOLDER, ROOT

markdown = runpy.run_path(str(ROOT / "docs" / "_extensions" / "notebooks.py"))["markdown"]


def result(**data):
    return {"output_type": "execute_result", "data": {kind.replace("_", "/"): text for kind, text in data.items()}}


def test_cells_become_text_blocks_and_pictures():
    picture = {"output_type": "display_data", "data": {"image/svg+xml": "<svg>\n\n</svg>", "text/plain": "<T>"}}
    plot = {"output_type": "display_data", "data": {"image/png": "aGk=\n", "text/plain": "<Figure>"}}
    printed = {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]}
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "Text."]},
        {"cell_type": "code", "source": ["f()"], "outputs": [printed, result(text_plain="3"), picture, plot]},
    ]
    assert markdown({"cells": cells}) == "\n\n".join(
        [
            "# Title\n\nText.",
            "```python\nf()\n```",
            "```text\na\nb\n```",
            "```text\n3\n```",
            "<div>\n<svg>\n</svg>\n</div>",
            "![Plot](data:image/png;base64,aGk=)\n",
        ]
    )


@pytest.mark.parametrize("name", ["tour", "sensors", "live"])
def test_every_notebook_can_be_shown(name):
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text())
    assert markdown(notebook).startswith("".join(notebook["cells"][0]["source"]))
