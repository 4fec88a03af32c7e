"""The reference has every public name, on exactly one page."""

from __future__ import annotations

import re
from collections import Counter

import headrace
import headrace.serdes
import headrace.testing
from tests.docs.pages import DOCS

DOCUMENTED = re.compile(r"^\.\. (?:auto(?:class|exception|function|data)|py:module):: (\S+)$", re.MULTILINE)


def test_every_public_name_is_on_exactly_one_page_of_the_reference():
    pages = sorted((DOCS / "reference").glob("*.md"))
    documented = Counter(name for page in pages for name in DOCUMENTED.findall(page.read_text()))
    modules = (headrace, headrace.serdes, headrace.testing)
    public = {f"{module.__name__}.{name}" for module in modules for name in module.__all__} | {"headrace.testing"}
    assert {name: documented[name] for name in public | set(documented)} == dict.fromkeys(public, 1)
