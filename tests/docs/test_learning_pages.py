"""The pages for newcomers: each is listed, its links lead somewhere, and its code runs or is of another library."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headrace as hr
from headrace.errors import StateError
from tests.support.plan_runner import PlanRunner

DOCS = Path(hr.__file__).parents[1] / "docs"
FOLDERS = [DOCS / name for name in ("start", "recipes", "proposals", "coming-from")]
PAGES = [page for folder in FOLDERS for page in sorted(folder.glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^([^\n]*)\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOREIGN = "<!-- not executed: foreign code -->"
RENAMED = re.compile(r"<!-- error: renamed store -->\n```text\nheadrace.errors.StateError: (.*?)\n```", re.DOTALL)


def _id(path):
    return path.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("folder", FOLDERS, ids=_id)
def test_the_index_lists_every_page_of_its_folder(folder):
    linked = LINK.findall((folder / "index.md").read_text())
    assert [page.name for page in folder.glob("*.md") if page.name != "index.md" and page.name not in linked] == []


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_links_lead_to_files_and_headings_that_exist(page):
    for link in LINK.findall(page.read_text()):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), link
        assert not anchor or anchor in _anchors(linked), link


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_python_code_is_a_session_or_a_file_or_foreign(page):
    for before, code in CODE.findall(page.read_text()):
        assert code.startswith(">>> ") or before == FOREIGN or re.fullmatch(r"<!-- \w+\.py -->", before), code


def test_the_page_about_changes_shows_the_error_of_a_renamed_store(tmp_path):
    hr.LocalTopics(tmp_path / "topics").create("clicks", partitions=1)
    PlanRunner(_counting("counts"), tmp_path)
    with pytest.raises(StateError) as refused:
        PlanRunner(_counting("clicks-per-user"), tmp_path)
    [shown] = RENAMED.findall((DOCS / "recipes" / "changing-an-application.md").read_text())
    assert shown == str(refused.value).replace(str(tmp_path / "state"), "...")


def _counting(store):
    builder = hr.StreamsBuilder()
    builder.stream("clicks").group_by_key().count(store=store).to_stream().to("out")
    return builder.build()


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
