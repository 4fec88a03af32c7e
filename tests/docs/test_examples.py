"""Every example in a docstring or in the docs runs and prints what it says; everything public has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import headrace

PACKAGE = Path(headrace.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if "spark" not in path.parts and "cli" not in path.parts
)


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module):
    results = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def pages() -> list[Path]:
    """All pages but those of the tutorial, which need its files (`test_tutorial.py`)."""
    return [page for page in sorted((PACKAGE.parent / "docs").rglob("*.md")) if page.parent.name != "start"]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_examples_of_the_pages_run(page):
    results = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


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
