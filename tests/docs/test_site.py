"""The site's extensions: links to files of the repository, the side bar, and the check of the built pages."""

from __future__ import annotations

from navigation import existing_pages, pages_of_folder
from repository_files import pages_by_file, with_site_links
from site_check import broken_links, loaded_from_elsewhere

from tests.docs.pages import DOCS, ROOT


def test_files_outside_docs_have_the_page_that_includes_them():
    pages = pages_by_file(DOCS)
    assert pages[ROOT / "README.md"] == DOCS / "index.md"
    assert pages[ROOT / "CONTRIBUTING.md"] == DOCS / "repository" / "contributing.md"
    assert pages[ROOT / "conformance" / "deviations.md"] == DOCS / "repository" / "deviations.md"


def test_a_link_to_a_file_outside_docs_leads_to_its_page():
    pages = {ROOT / "CONTRIBUTING.md": DOCS / "repository" / "contributing.md"}
    page = DOCS / "operators" / "index.md"
    text = "[a](../../CONTRIBUTING.md#tests-by-folder) [b](../joins.md) [c](#words) [d](https://example.com/x)"
    assert with_site_links(text, page, page, pages) == (
        "[a](../repository/contributing.md#tests-by-folder) [b](../joins.md) [c](#words) [d](https://example.com/x)"
    )


def test_the_links_of_an_included_file_are_relative_to_the_page_that_shows_it():
    page = DOCS / "repository" / "contributing.md"
    text = with_site_links("[a](docs/joins.md) [b](LICENSE) [`bench`](bench)", ROOT / "CONTRIBUTING.md", page, {})
    assert text == "[a](../joins.md) [b](../../LICENSE) `bench`"


def test_a_folder_is_in_the_side_bar_if_it_has_an_index_page():
    assert existing_pages(["start/", "joins", "recipes/"], {"joins", "recipes/index"}) == ["joins", "recipes/index"]


def test_the_pages_of_a_folder_follow_the_links_of_its_index_page():
    found = {"start/index", "start/a", "start/b", "start/c", "other"}
    index = "[second](c.md#x) and [first](a.md), [elsewhere](../other.md)"
    assert pages_of_folder("start/", index, found) == ["/start/c", "/start/a", "/start/b"]


def test_a_page_that_loads_something_from_another_host_is_found(tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="https://fine.example"></a><script src="https://x.example/a.js"></script>'
        '<img src="//y.example/b.png"><link rel="stylesheet" href="_static/own.css"><style>@import "http://z.example"</style>'
    )
    (tmp_path / "own.css").write_text("/* https://comment.example */ a { background: url(https://w.example/c.png) }")
    (tmp_path / "own.js").write_text('// https://comment.example\nfetch("https://v.example/d.json")')
    assert loaded_from_elsewhere(tmp_path) == [
        "own.css: https://w.example/c.png",
        "own.js: https://v.example/d.json",
        "page.html: //y.example/b.png",
        "page.html: http://z.example",
        "page.html: https://x.example/a.js",
    ]


def test_a_link_to_a_page_or_an_anchor_that_does_not_exist_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="top"><a href="b.html#here"></a><a href="#top"></a><a href="c.html"></a></p>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html#top"></a><a href="https://fine.example"></a></p>')
    assert broken_links(tmp_path) == ["a.html: b.html#here", "a.html: c.html"]
