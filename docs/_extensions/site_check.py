"""Checks the built site: it loads nothing from other hosts, and every link inside it leads to a page and an anchor.

Run by `make docs`: `python docs/_extensions/site_check.py build/site`.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED_BY = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
LOADED_BY |= {"embed": "src", "object": "data", "link": "href", "use": "href", "image": "href"}
# Kinds of <link> that only name a page.
NOT_LOADED = {"index", "search", "next", "prev", "canonical", "author", "license"}

CSS_LOADS = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s;]+)""")
JS_LOADS = re.compile(r"""["'`]((?:https?:)?//[^"'`\s]+\.[^"'`\s]+)["'`]""")
COMMENTS = re.compile(r"/\*.*?\*/|(?m:^[ \t]*//[^\n]*$)", re.DOTALL)
NAMESPACES = ("http://www.w3.org/",)  # names of XML vocabularies, never loaded


class Page(HTMLParser):
    """Collects what a page loads, its links and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self._inside = ""
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Notes the attributes that load or link."""
        given = {name: value or "" for name, value in attributes}
        self._inside = tag
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        attribute = LOADED_BY.get(tag)
        if attribute in given and given.get("rel") not in NOT_LOADED:
            self.loads.append(given[attribute])
        self.loads += CSS_LOADS.findall(given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        """Leaves a tag."""
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        """Notes what style sheets and scripts within the page load."""
        if self._inside == "style":
            self.loads += CSS_LOADS.findall(data)
        elif self._inside == "script":
            self.loads += JS_LOADS.findall(COMMENTS.sub("", data))


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Everything that pages, style sheets and scripts load from other hosts, as `file: address`."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            loads = Page(path).loads
        elif path.suffix in {".css", ".js"}:
            pattern = CSS_LOADS if path.suffix == ".css" else JS_LOADS
            loads = pattern.findall(COMMENTS.sub("", path.read_text()))
        else:
            continue
        external = {one for one in loads if urlsplit(one).netloc and not one.startswith(NAMESPACES)}
        found += [f"{path.relative_to(site)}: {one}" for one in sorted(external)]
    return found


def broken_links(site: Path) -> list[str]:
    """Every link inside the site to a page or an anchor that does not exist, as `file: link`."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    return broken


def main(site: Path) -> int:
    """Prints what is wrong; returns 1 if anything is."""
    problems = [f"loads from another host: {one}" for one in loaded_from_elsewhere(site)]
    problems += [f"broken link: {one}" for one in broken_links(site)]
    number = len(list(site.rglob("*.html")))
    print("\n".join(problems) or f"{site}: {number} pages, no broken link, nothing loaded from other hosts")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
