"""The pages, their code blocks and their links, read from Markdown without Sphinx."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
EXECUTED = [page for page in FILES if page.parent != DOCS / "start"]  # test_tutorial.py executes those

FENCE = re.compile(r"^(?P<fence>```+)(?P<kind>[^\n`]*)\n(?P<body>(?:.*\n)*?)(?P=fence)$", re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)\)")
NOT_EXECUTED = re.compile(r"<!-- not executed: (?P<reason>.+) -->")
ON_SPARK = "<!-- executed on Spark -->"


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, its text, its first line in the page, and the line before the fence."""

    kind: str
    body: str
    line: int
    comment: str

    @property
    def is_python(self) -> bool:
        """Whether it is Python without prompts."""
        return self.kind == "python" and not self.has_prompts

    @property
    def has_prompts(self) -> bool:
        """Whether it has `>>>`, as in an interactive session."""
        return re.search(r"^\s*>>> ", self.body, re.MULTILINE) is not None

    @property
    def why_not_executed(self) -> str | None:
        """The reason that the line before the block gives."""
        marked = NOT_EXECUTED.fullmatch(self.comment)
        return None if marked is None else marked["reason"]

    @property
    def needs_spark(self) -> bool:
        """Whether the line before the block says that it is executed on Spark."""
        return self.comment == ON_SPARK


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, from top to bottom."""
    text = page.read_text()
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip("\n").rpartition("\n")[2]
        yield Block(match["kind"].strip(), match["body"], text.count("\n", 0, match.start()) + 2, before)


def links_of(page: Path) -> list[str]:
    """The targets of the links of a page, without those in code."""
    return [match["target"] for match in LINK.finditer(CODE.sub("`code`", FENCE.sub("", page.read_text())))]


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub and the site give the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    texts = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in texts}
