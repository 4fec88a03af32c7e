"""The map in `docs/architecture.md` leads to files and functions that exist."""

from __future__ import annotations

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

import headrace

PACKAGE = Path(headrace.__file__).parent
DOCS = PACKAGE.parent / "docs"
PAGE = (DOCS / "architecture.md").read_text()
ROW = re.compile(r"^\| [^|]+ \| `([\w/]+\.py)` \| `([\w.]+)` \|$", re.MULTILINE)
FILES = [f"/{path.relative_to(PACKAGE.parent)}" for path in PACKAGE.parent.glob("[!.]*/**/*.py")]


def test_the_map_lists_hops_and_rules():
    rules = PAGE.index("| rule | file | function or class |")
    assert [len(ROW.findall(part)) for part in (PAGE[:rules], PAGE[rules:])] == [13, 50]


@pytest.mark.parametrize(("file", "function"), ROW.findall(PAGE))
def test_every_hop_and_every_rule_is_a_function_or_class_of_its_file(file, function):
    module = importlib.import_module(f"headrace.{file.removesuffix('.py').replace('/', '.')}")
    found = reduce(getattr, function.split("."), module)
    assert callable(found) or isinstance(found, property)


def test_every_file_that_pages_name_exists():
    named = {
        (page.name, name)
        for page in (*DOCS.glob("*.md"), DOCS.parent / "CONTRIBUTING.md")
        for name in re.findall(r"`([\w/]+\.py)`", page.read_text())
    }
    users_own = {"app.py"}
    missing = [(page, name) for page, name in named if not any(file.endswith(f"/{name}") for file in FILES)]
    assert {name for _, name in missing} <= users_own, missing


def test_every_folder_of_the_map_exists():
    tree = PAGE[PAGE.index("headrace/\n") : PAGE.index("An operator has one theme")]
    folders = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*") if path.is_dir()}
    named = {name.rstrip("/") for name in re.findall(r"[\w/]+/(?=\s|,)", tree)} - {"headrace"}
    assert [name for name in named if not any(f"/{folder}".endswith(f"/{name}") for folder in folders)] == []
    last = {name.rpartition("/")[2] for name in named}
    assert [folder for folder in folders if "__pycache__" not in folder and folder.rpartition("/")[2] not in last] == []
