"""The wheel and the sdist are the same bytes for the same commit, and have what they need and no more."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import headrace as hr
from tests.package.build import ROOT, build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the time of the last commit comes from git"),
]
FOLDER = f"headrace-{hr.__version__}"


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dist")
    build(directory)
    return directory


@pytest.fixture(scope="module")
def wheel(dist):
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def sdist(dist):
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        return archive.getnames()


def tracked(*folders):
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def test_a_second_build_gives_the_same_bytes(dist, tmp_path):
    assert build(tmp_path) == build(dist)


def test_the_metadata_are_valid_and_the_readme_can_be_shown(dist):
    files = [str(path) for path in dist.iterdir()]
    checked = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=False)
    assert checked.returncode == 0


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    package = {name for name in wheel if not name.startswith(f"{FOLDER}.dist-info/")}
    assert package == set(tracked("headrace"))
    assert {"headrace/py.typed", "headrace/cli/new_project/templates/app.py.txt"} <= package
    assert f"{FOLDER}.dist-info/licenses/LICENSE" in wheel


def test_the_sdist_has_what_its_tests_need(sdist):
    names = {name.removeprefix(f"{FOLDER}/") for name in sdist}
    needed = tracked("headrace", "tests", "conformance", "bench", "docs", "Makefile", "LICENSE", "pyproject.toml")
    assert [name for name in needed if name not in names] == []
    assert [name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md") if name not in names] == []
    assert [name for name in names if Path(name).suffix in (".pyc", ".class", ".jar")] == []
