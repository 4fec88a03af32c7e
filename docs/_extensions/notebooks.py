"""Notebooks as pages of the site: their text, code and committed output. Nothing is executed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SUFFIX = ".ipynb"


def show_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replaces the JSON of a notebook by Markdown."""
    if app.env.doc2path(docname).suffix == SUFFIX:
        source[0] = markdown(json.loads(source[0]))


def markdown(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _cell(cell)) + "\n"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield _block(text, "python")
    yield from map(_output, cell["outputs"])


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _block("".join(output["text"]), "text")
    data = {kind: "".join(content) for kind, content in output["data"].items()}
    if "image/svg+xml" in data:
        lines = [line for line in data["image/svg+xml"].splitlines() if line.strip()]
        return "\n".join(["<div>", *lines, "</div>"])  # a blank line would end the HTML
    if "image/png" in data:
        content = data["image/png"].replace("\n", "")
        return f"![Plot](data:image/png;base64,{content})"
    return _block(data["text/plain"], "text")


def _block(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def setup(app: Sphinx) -> dict[str, Any]:
    """Adds the suffix; notebooks become Markdown before other extensions read their source."""
    app.add_source_suffix(SUFFIX, "markdown")
    app.connect("source-read", show_notebook, priority=100)
    return {"parallel_read_safe": True}
