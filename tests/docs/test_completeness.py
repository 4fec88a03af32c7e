"""The pages describe every setting and every command."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import typer

import headrace as hr
from headrace.cli.program import program

ROOT = Path(hr.__file__).parents[1]


def test_the_settings_page_lists_every_setting():
    page = (ROOT / "docs" / "settings.md").read_text()
    assert [setting.name for setting in fields(hr.StreamsConfig) if f"| `{setting.name}` |" not in page] == []


def test_the_readme_shows_every_command():
    page = (ROOT / "README.md").read_text()
    commands = typer.main.get_group(program).list_commands(None)
    assert [command for command in commands if f"headrace {command}" not in page] == []


def test_every_page_is_linked_from_the_readme():
    readme = (ROOT / "README.md").read_text()
    pages = sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs" / "index.md"})
    assert [page.name for page in pages if f"docs/{page.name}" not in readme] == []
