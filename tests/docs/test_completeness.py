"""The pages describe every setting and every command, and their links lead somewhere."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import typer

import headrace as hr
from headrace.cli.program import program

ROOT = Path(hr.__file__).parents[1]
LINK = re.compile(r"\]\(((?:[\w-]+\.md)?(?:#[\w-]+)?)\)")


def test_the_settings_page_lists_every_setting():
    page = (ROOT / "docs" / "settings.md").read_text()
    assert [setting.name for setting in fields(hr.StreamsConfig) if f"| `{setting.name}` |" not in page] == []


def test_the_readme_shows_every_command():
    page = (ROOT / "README.md").read_text()
    commands = typer.main.get_group(program).list_commands(None)
    assert [command for command in commands if f"headrace {command}" not in page] == []


def test_every_page_is_linked_from_the_readme():
    readme = (ROOT / "README.md").read_text()
    pages = sorted((ROOT / "docs").glob("*.md"))
    assert [page.name for page in pages if f"docs/{page.name}" not in readme] == []


def test_links_between_pages_lead_to_pages_and_headings_that_exist():
    pages = {page.name: page for page in (ROOT / "docs").glob("*.md")}
    for page in pages.values():
        for target in LINK.findall(page.read_text()):
            name, _, anchor = target.partition("#")
            linked = pages[name] if name else page
            assert not anchor or anchor in _anchors(linked), f"{page.name} links to {target}"


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
