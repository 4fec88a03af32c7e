"""The side bar, without navigation in the pages: from `navigation` in `conf.py`, and from the links of index pages.

The index page of a folder lists the other pages of its folder: first those it links to, in the order of the links, then
the rest. A page that has a `toctree` of its own is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LINK = re.compile(r"\]\(([\w-]+)\.md[)#]")


def add_toctrees(app: Sphinx, docname: str, source: list[str]) -> None:
    """Appends hidden toctrees to the root page and to the index pages of folders."""
    text = source[0]
    if "{toctree}" in text:
        return
    if docname == app.config.root_doc:
        for caption, entries in app.config.navigation.items():
            source[0] += _toctree(existing_pages(entries, app.env.found_docs), caption)
    elif docname.endswith("/index"):
        folder = docname.removesuffix("index")
        source[0] += _toctree(pages_of_folder(folder, text, app.env.found_docs))


def existing_pages(entries: Iterable[str], found: set[str]) -> list[str]:
    """The pages of some entries: a folder, which ends with a slash, stands for its index page, if there is one."""
    pages = [f"{entry}index" if entry.endswith("/") else entry for entry in entries]
    return [page for page, entry in zip(pages, entries, strict=True) if page in found or not entry.endswith("/")]


def pages_of_folder(folder: str, index: str, found: set[str]) -> list[str]:
    """The pages of a folder in the order in which its index page links to them, then the others by name."""
    inside = {page for page in found if page.startswith(folder)} - {f"{folder}index"}
    direct = {page for page in inside if "/" not in page.removeprefix(folder) or page.endswith("/index")}
    linked = dict.fromkeys(f"{folder}{name}" for name in LINK.findall(index))
    return [f"/{page}" for page in [*(page for page in linked if page in direct), *sorted(direct - set(linked))]]


def _toctree(pages: list[str], caption: str = "") -> str:
    if not pages:
        return ""
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return "\n\n```{toctree}\n" + options + "\n" + "\n".join(pages) + "\n```\n"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connects the extension; it must run after the one that includes files."""
    app.add_config_value("navigation", {}, "env")
    app.connect("source-read", add_toctrees, priority=600)
    return {"parallel_read_safe": True}
