"""Executes the Python of a page, from top to bottom, as a reader would: one session for the whole page."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

from tests.docs.pages import Block, blocks_of


def run_page(page: Path, *, on_spark: bool = False) -> None:
    """Executes all blocks of a page that are not marked as not executed; those for Spark only if it is there."""
    session: dict[str, Any] = {"__name__": "page"}
    for block in blocks_of(page):
        if block.why_not_executed is not None or (block.needs_spark and not on_spark):
            continue
        if block.has_prompts:
            _run_session(page, block, session)
        elif block.is_python:
            lines_before = "\n" * (block.line - 1)
            exec(compile(lines_before + block.body, str(page), "exec"), session)


def _run_session(page: Path, block: Block, session: dict[str, Any]) -> None:
    """Executes a block with prompts, and compares what it prints."""
    test = doctest.DocTestParser().get_doctest(block.body, session, page.name, str(page), block.line - 1)
    doctest.DebugRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False)
    session.update(test.globs)
