"""The `marbles` directive: a block of code, the picture of its run, and the run as a table."""

from __future__ import annotations

import hashlib
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from marbles.drawing import draw
from marbles.run import Run, execute
from marbles.transcript import event_text, result_texts, split_block


class Marbles(SphinxDirective):
    """Executes its body by the test driver and draws the run; its argument is the text in the operator's box."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Returns the code without its transcript, and the picture."""
        title = self.arguments[0]
        code, _ = split_block("\n".join(self.content))
        source, line = self.get_source_info()
        run = execute(code, f"{source}:{line}")
        block = nodes.literal_block(code, code, language="python")
        self.set_source_info(block)
        return [block, nodes.raw("", figure(run, title), format="html")]


def figure(run: Run, title: str) -> str:
    """The picture and, folded, its table."""
    identifier = f"marbles-{hashlib.sha256(repr(run).encode()).hexdigest()[:8]}"
    return (
        f'<div class="marbles-figure"><div class="marbles-scroll" tabindex="0">{draw(run, title, identifier)}</div>'
        f"<details><summary>The run, record by record</summary>{table(run)}</details></div>"
    )


def table(run: Run) -> str:
    """The run as a table: a row for each input."""
    included = run.window_end_included
    rows = ""
    for step in run.steps:
        given = _code(event_text(step.input, end_included=included))
        results = "<br>".join(_code(text) for text in result_texts(step, end_included=included))
        rows += f"<tr><td>{step.number}</td><td>{given}</td><td>{results}</td></tr>"
    return f"<table><thead><tr><th></th><th>input</th><th>results</th></tr></thead><tbody>{rows}</tbody></table>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directive."""
    app.add_directive("marbles", Marbles)
    return {"parallel_read_safe": True}
