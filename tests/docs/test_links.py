"""Links lead somewhere: inside the repository to files and headings that exist, outside to well-formed addresses."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from repository_files import pages_by_file

from tests.docs.pages import DOCS, FILES, ROOT, anchors_of, links_of

PAGES = sorted({*FILES, *pages_by_file(DOCS)})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(page):
    broken = []
    for target in links_of(page):
        if urlsplit(target).scheme:
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        if not linked.exists() or (anchor and anchor not in anchors_of(linked)):
            broken.append(target)
    assert broken == []


def test_links_to_other_hosts_are_well_formed():
    external = {target for page in PAGES for target in links_of(page) if urlsplit(target).scheme}
    malformed = [one for one in external if urlsplit(one).scheme not in {"https", "mailto"} or not one.isascii()]
    assert malformed == []
