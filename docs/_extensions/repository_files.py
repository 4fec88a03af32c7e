"""Files of the repository outside `docs`: pages include them, and links to them lead to the pages that do.

A page that includes a Markdown file shows that file, and nothing else. Links are written as they work in the
repository, in the file and in all pages; here they are changed to the pages of the site.
"""

from __future__ import annotations

import re
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INCLUDE = re.compile(r"^```\{include\} (?P<file>\S+\.md)\n```$", re.MULTILINE)
LINK = re.compile(r"\[(?P<text>[^\[\]]*)\]\((?P<file>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def pages_by_file(docs: Path) -> dict[Path, Path]:
    """The page of each file outside `docs` that a page includes; the README's is the home page."""
    pages = {docs.parent / "README.md": docs / "index.md"}
    for page in docs.rglob("*.md"):
        for include in INCLUDE.finditer(page.read_text()):
            pages[(page.parent / include["file"]).resolve()] = page
    return pages


def with_site_links(text: str, written_in: Path, shown_on: Path, pages: dict[Path, Path]) -> str:
    """A text whose links, relative to the file it is written in, are relative to the page it is shown on.

    A folder has no page: of a link to one, the text remains.
    """

    def on_site(link: re.Match[str]) -> str:
        file = (written_in.parent / link["file"]).resolve()
        if not file.exists():
            return link[0]  # Sphinx will report it
        if file.is_dir():
            return link["text"]
        return f"[{link['text']}]({relpath(pages.get(file, file), shown_on.parent)}{link['anchor'] or ''})"

    return LINK.sub(on_site, text)


def include_files(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replaces a page by the file that it includes, if it does, and changes the links."""
    page = file = Path(app.env.doc2path(docname))
    if include := INCLUDE.search(source[0]):
        file = (page.parent / include["file"]).resolve()
        app.env.note_dependency(str(file))
        source[0] = file.read_text()
    source[0] = with_site_links(source[0], file, page, pages_by_file(Path(app.srcdir)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connects the extension."""
    app.connect("source-read", include_files, priority=400)
    return {"parallel_read_safe": True}
