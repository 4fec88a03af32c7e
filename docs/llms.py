"""Writes `llms.txt`, a list of the pages, and `llms-full.txt`, their text, for language models.

    python docs/llms.py DIRECTORY [PREFIX]

PREFIX comes before the path of each page, e.g. the address of the site. The files are made when the site is built, and
not committed, so that they never differ from the pages. This script needs nothing but Python.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = {
    "Start": ("README.md", "docs/from-kafka-streams.md", "docs/testing.md", "docs/running.md", "docs/settings.md"),
    "Project": (
        *("CHANGELOG.md", "CONTRIBUTING.md", "MAINTAINERS.md", "conformance/deviations.md"),
        *("docs/architecture.md", "docs/conformance.md", "docs/security.md"),
    ),
}
_LENGTH = 200


def write(directory: Path, prefix: str = "") -> None:
    """Writes both files to a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sections = list(_sections())
    lines = [f"# {_title(readme)}", "", f"> {_summary(readme)}"]
    for heading, pages in sections:
        lines += ["", f"## {heading}", ""]
        for page in pages:
            text = (ROOT / page).read_text(encoding="utf-8")
            lines.append(f"- [{_title(text)}]({prefix}{_address(page)}): {_summary(text)}")
    (directory / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = [
        f"<!-- {prefix}{_address(page)} -->\n\n{(ROOT / page).read_text(encoding='utf-8').strip()}\n"
        for _, pages in sections
        for page in pages
    ]
    (directory / "llms-full.txt").write_text("\n\n".join(texts), encoding="utf-8")


def _sections() -> Iterator[tuple[str, list[str]]]:
    """The headings with the paths of their pages. Each folder of the documentation has a heading of its own."""
    listed = {page for pages in SECTIONS.values() for page in pages}
    folders: dict[Path, list[str]] = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.relative_to(ROOT).as_posix()
        if page not in listed and page != "docs/index.md" and path.parent.name != "repository":
            folders.setdefault(path.parent, []).append(page)
    yield "Start", list(SECTIONS["Start"])
    for folder, pages in folders.items():
        name = "Guides" if folder == ROOT / "docs" else folder.name.replace("-", " ").capitalize()
        yield name, [*SECTIONS["Project"], *pages] if name == "Project" else pages


def _address(page: str) -> str:
    """Where the site has a page: those outside docs are included by pages of docs/repository."""
    if page == "README.md":
        return "index.html"
    path = Path(page)
    return (
        (path.relative_to("docs") if path.parts[0] == "docs" else Path("repository", path.name.lower()))
        .with_suffix(".html")
        .as_posix()
    )


def _title(text: str) -> str:
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1]


def _summary(text: str) -> str:
    """The first sentence of a page, without markup."""
    body = re.split(r"^# .+\n", text, maxsplit=1, flags=re.MULTILINE)[1]
    paragraph = next(part for part in body.strip().split("\n\n") if not part.startswith(("#", "|", "```", "<", "!")))
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(paragraph.split())).replace("**", "")
    sentence = re.split(r"(?<=[.?])\s", plain, maxsplit=1)[0].rstrip(":")
    return sentence if len(sentence) <= _LENGTH else f"{sentence[:_LENGTH].rpartition(' ')[0]} ..."


if __name__ == "__main__":
    write(Path(sys.argv[1]), *sys.argv[2:3])
