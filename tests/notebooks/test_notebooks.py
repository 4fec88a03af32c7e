"""Every notebook runs without an error, and shows what is committed."""

from __future__ import annotations

import nbformat
import pytest

from tests.support.notebooks import FOLDER, execute, shown

NEED_SPARK = {"live"}
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MARKED = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.spark, pytest.mark.slow] if path.stem in NEED_SPARK else [])
    for path in NOTEBOOKS
]


@pytest.mark.parametrize("path", MARKED)
def test_notebook_shows_what_is_committed(path):
    committed = nbformat.read(path, as_version=4)
    assert shown(execute(path)) == shown(committed), "run: python -m tests.support.notebooks"


def test_the_index_links_every_notebook():
    page = (FOLDER / "index.md").read_text()
    assert [path.name for path in NOTEBOOKS if f"({path.name})" not in page] == []
