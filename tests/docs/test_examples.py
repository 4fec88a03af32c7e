"""Every example in a docstring or in the docs runs and prints what it says; everything public has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
from contextlib import nullcontext
from pathlib import Path

import pytest

import headrace
from tests.docs.pages import EXECUTED, ON_SPARK, ROOT, blocks_of
from tests.docs.running import run_page

PACKAGE = Path(headrace.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if "spark" not in path.parts and "cli" not in path.parts
)


def name_of(page: Path) -> str:
    """The path of a page in the repository."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module):
    results = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


@pytest.mark.parametrize("page", EXECUTED, ids=name_of)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


PAGES_ON_SPARK = [page for page in EXECUTED if any(block.needs_spark for block in blocks_of(page))]


@pytest.mark.spark
@pytest.mark.parametrize("page", PAGES_ON_SPARK, ids=name_of)
def test_the_python_of_a_page_runs_on_spark(page, tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    run_page(page, on_spark=True)


@pytest.mark.parametrize("page", EXECUTED, ids=name_of)
def test_only_python_is_marked_as_not_executed_or_as_executed_on_spark(page):
    lines = page.read_text().split("\n")
    marked = [block for block in blocks_of(page) if block.why_not_executed is not None or block.needs_spark]
    assert sum(line.startswith(("<!-- not executed", ON_SPARK)) for line in lines) == len(marked)
    assert [block.kind for block in marked] == ["python"] * len(marked)


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ("```python\nanswer = 6 * 7\n```\n\n```python\n>>> answer\n42\n```\n", None),
        ("```python\nanswer = missing\n```\n", NameError),
        ("<!-- not executed: a fragment -->\n```python\nanswer = missing\n```\n", None),
        ("<!-- executed on Spark -->\n```python\nanswer = missing\n```\n", None),
        ("```python\n>>> 6 * 7\n41\n```\n", doctest.DocTestFailure),
    ],
)
def test_blocks_share_one_session_and_fail_unless_they_are_marked(page, error, tmp_path):
    (tmp_path / "page.md").write_text(page)
    with nullcontext() if error is None else pytest.raises(error):
        run_page(tmp_path / "page.md")


def test_every_public_class_and_method_says_what_it_does():
    silent = []
    for name in headrace.__all__:
        thing = getattr(headrace, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        if not inspect.getdoc(thing):
            silent.append(name)
        if inspect.isclass(thing):
            silent += [
                f"{name}.{method}"
                for method, function in inspect.getmembers(thing, inspect.isfunction)
                if not method.startswith("_") and not inspect.getdoc(function)
            ]
    assert silent == []
