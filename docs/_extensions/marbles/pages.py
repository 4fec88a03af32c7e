"""The marbles blocks of the pages, and the command that writes their transcripts again.

Run it after a change of a block: `python docs/_extensions/record_marbles.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from marbles.run import execute
from marbles.transcript import split_block, transcript

DOCS = Path(__file__).parents[2]
BLOCK = re.compile(r"^```\{marbles\} (?P<title>.+)\n(?P<body>(?:.*\n)*?)```$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A marbles block: what the picture shows, its code, and the transcript that the page has."""

    page: Path
    line: int
    title: str
    code: str
    transcript: str


def blocks_of(page: Path) -> Iterator[Block]:
    """The marbles blocks of a page, from top to bottom."""
    text = page.read_text()
    for match in BLOCK.finditer(text):
        code, recorded = split_block(match["body"])
        yield Block(page, text.count("\n", 0, match.start()) + 1, match["title"], code, recorded)


def all_blocks() -> list[Block]:
    """The marbles blocks of all pages."""
    return [block for page in sorted(DOCS.rglob("*.md")) for block in blocks_of(page)]


def record(page: Path) -> None:
    """Executes all blocks of a page and writes their transcripts."""

    def recorded(match: re.Match[str]) -> str:
        code, _ = split_block(match["body"])
        return f"```{{marbles}} {match['title']}\n{code}\n\n{transcript(execute(code, str(page)))}\n```"

    page.write_text(BLOCK.sub(recorded, page.read_text()))
