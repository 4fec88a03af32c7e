"""The pages describe every setting and every command."""

from __future__ import annotations

import re
from dataclasses import fields

import typer

import headrace as hr
from headrace._core.drop_reasons import DropReason
from headrace.cli.program import program
from tests.docs.pages import PAGES, ROOT, links_of


def test_the_settings_page_lists_every_setting():
    page = (ROOT / "docs" / "settings.md").read_text()
    assert [setting.name for setting in fields(hr.StreamsConfig) if f"| `{setting.name}` |" not in page] == []


def test_the_page_on_errors_lists_every_reason_for_dropping_a_record():
    page = (ROOT / "docs" / "errors.md").read_text()
    tables = page[page.index("## Reasons") :].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \|", tables, re.MULTILINE)
    assert sorted(reason for row in rows for reason in re.findall(r"`([^`]+)`", row)) == sorted(DropReason)


def test_the_readme_shows_every_command():
    page = (ROOT / "README.md").read_text()
    commands = typer.main.get_group(program).list_commands(None)
    assert [command for command in commands if f"headrace {command}" not in page] == []


def test_every_page_is_reached_by_links_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            linked = (
                (page.parent / target.partition("#")[0]).resolve() for target in links_of(page) if ".md" in target
            )
            waiting += [other for other in linked if other.is_file()]
    shown_here = {page for page in PAGES if page.parent.name == "repository"}  # these only include other files
    assert sorted({*PAGES} - reached - shown_here) == []
