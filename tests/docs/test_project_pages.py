"""The pages about the project: numbers and versions are those of the code, and links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import tomllib

import pytest
from packaging.specifiers import SpecifierSet

import headrace as hr
from headrace import _formats
from tests.docs.versions import ROOT, expected_rows, rows_of_the_page

PAGES = sorted((ROOT / "docs" / "project").glob("*.md"))
FILES = [*PAGES, *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "MAINTAINERS"))]
FORMATS = {name: number for name, number in vars(_formats).items() if name.isupper()}


def test_the_compatibility_page_lists_every_format_with_its_number():
    page = (ROOT / "docs" / "project" / "compatibility.md").read_text()
    listed = {name: int(number) for name, number in re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", page, re.MULTILINE)}
    assert listed == FORMATS


def test_the_changelog_has_this_version_with_its_formats():
    newest = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    assert newest.startswith(hr.__version__)
    listed = {name: int(number) for name, number in re.findall(r"`([A-Z_]+)` (\d+)", newest)}
    assert listed == FORMATS


def test_allowed_versions_are_those_of_the_package():
    rows = [(row.name, row.allowed, row.use) for row in rows_of_the_page()]
    assert rows == [(row.name, row.allowed, row.use) for row in expected_rows()]


def test_tested_versions_are_allowed_ones():
    wrong = [row for row in rows_of_the_page() if row.allowed != "-" and row.tested not in SpecifierSet(row.allowed)]
    assert wrong == []


def test_versions_of_kafka_are_those_of_the_files_that_are_named():
    kafka = [row for row in expected_rows() if row.allowed == "-"]
    assert [row for row in rows_of_the_page() if row.allowed == "-"] == kafka


def test_classifiers_name_only_versions_of_python_that_were_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (\d\.\d+)", "\n".join(project["classifiers"]))
    tested = next(row.tested for row in rows_of_the_page() if row.name == "Python")
    assert named == [tested.rpartition(".")[0]]


def test_the_page_on_installing_lists_every_extra():
    page = (ROOT / "docs" / "project" / "install.md").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    table = page.partition("| extra |")[2].partition("\n\n")[0]
    assert [extra for extra in extras if extra != "all" and f"`{extra}`" not in table] == []
    assert f"headrace-{hr.__version__}-" in page


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_of_the_project_is_in_its_index():
    index = (ROOT / "docs" / "project" / "index.md").read_text()
    assert [page.name for page in PAGES if page.name != "index.md" and f"]({page.name})" not in index] == []


# The site's first page, and pages that only include files from elsewhere, have no text of their own.
LISTED = [
    path
    for path in (ROOT / "docs").rglob("*.md")
    if path != ROOT / "docs" / "index.md" and path.parent.name != "repository"
]


@pytest.fixture(scope="module")
def llms():
    """The script, which is not part of a package."""
    spec = importlib.util.spec_from_file_location("llms", ROOT / "docs" / "llms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_llms_txt_names_every_page_once(llms, tmp_path):
    llms.write(tmp_path)
    pages = sorted(path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in LISTED)
    named = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", (tmp_path / "llms.txt").read_text(), re.MULTILINE)
    included = (f"repository/{name}.html" for name in ("changelog", "contributing", "maintainers", "deviations"))
    assert sorted(named) == sorted([*pages, "index.html", *included])


def test_llms_full_txt_has_the_text_of_every_page(llms, tmp_path):
    llms.write(tmp_path)
    text = (tmp_path / "llms-full.txt").read_text()
    pages = [*LISTED, ROOT / "README.md"]
    assert [page.name for page in pages if page.read_text().strip() not in text] == []
