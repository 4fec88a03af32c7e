"""The tutorial in docs/start: the code it shows is that of examples/orders, and works after each step."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.cli.commands.run import create_streams
from headrace.cli.loading import load

ROOT = Path(headrace.__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "start").glob("*.md"))
STEPS = [page for page in PAGES if page.name[0].isdigit()]
EXAMPLE = ROOT / "examples" / "orders"
FILES = ("app.py", "test_app.py")
BLOCK = re.compile(r"^<!-- (\S+\.py) -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INPUT = re.compile(r"^<!-- (\S+\.jsonl) -->\n```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADRACE = f"""#!/bin/sh
exec {sys.executable} -c 'from headrace.cli import main; main()' "$@"
"""


@pytest.fixture
def directory(request, tmp_path, monkeypatch):
    """A directory with the files that a reader has after a step, from which Python imports."""
    for name in FILES:
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
        (tmp_path / name).write_text(_written_until(request.param, name))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_the_steps_show_the_whole_file(name):
    shown, lines = _lines_shown(STEPS, name), (EXAMPLE / name).read_text().splitlines()
    assert [line for number, line in enumerate(lines) if line and number not in shown] == []


def test_the_last_step_shows_the_sample_input():
    blocks = INPUT.findall(STEPS[-1].read_text())
    assert dict(blocks) == {f"input/{file.name}": file.read_text() for file in (EXAMPLE / "input").iterdir()}


@pytest.mark.parametrize(
    ("page", "directory"), [(page, page) for page in PAGES], ids=[page.name for page in PAGES], indirect=["directory"]
)
def test_sessions_of_the_pages_run(page, directory):
    results = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


@pytest.mark.parametrize("directory", STEPS, ids=lambda page: page.name, indirect=True)
def test_the_tests_pass_after_each_step(directory):
    assert pytest.main(["-q", "-p", "no:cacheprovider", str(directory)]) == pytest.ExitCode.OK


@pytest.mark.spark
def test_the_application_runs_on_spark(spark, tmp_path):
    topics = headrace.LocalTopics(tmp_path / "topics")
    for file in sorted((EXAMPLE / "input").iterdir()):
        topics.create(file.stem, partitions=1)
        topics.produce(file.stem, [headrace.Record(**json.loads(line)) for line in file.read_text().splitlines()])
    loaded = load(str(EXAMPLE / "app.py"))
    config = loaded.configured(topics_dir=tmp_path / "topics", state_dir=tmp_path / "state")
    create_streams(loaded, config, spark).process_available()
    assert [(record.key, record.value["cents"]) for record in topics.read("revenue-per-hour")] == [
        ("CH", 2500),
        ("FR", 950),
        ("FR", 1140),
    ]
    assert [record.key for record in topics.read("orders-unpaid")] == ["o3"]
    assert [
        (record.key, dict(record.headers)["headrace.error.operator"]) for record in topics.read("orders-failed")
    ] == [
        ("o6", b"orders"),
        ("o5", b"in-francs"),
    ]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("page", ["install.md", "5-running.md"])
def test_commands_print_what_the_page_shows(page, tmp_path):
    text = (ROOT / "docs" / "start" / page).read_text()
    shutil.copytree(EXAMPLE, tmp_path / "work")
    for name, code in BLOCK.findall(text):
        if name not in FILES:
            (tmp_path / "work" / name).write_text(code)
    (tmp_path / "headrace").write_text(HEADRACE)
    (tmp_path / "headrace").chmod(0o755)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for block in CONSOLE.findall(text):
        for part in block.removeprefix("$ ").split("\n$ "):
            command, _, expected = part.partition("\n")
            printed = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path / "work", env=environment, stdout=subprocess.PIPE, check=False
            ).stdout.decode()
            assert doctest.OutputChecker().check_output(_tidy(expected), _tidy(printed), doctest.ELLIPSIS), (
                f"{command}\n{printed}"
            )


def _tidy(output: str) -> str:
    """Without empty lines and blanks at the end of lines, which tables have."""
    return "".join(f"{line.rstrip()}\n" for line in output.splitlines() if line.strip())


def _written_until(last: Path, name: str) -> str:
    """The part of a file that the steps up to a page show."""
    shown = _lines_shown([page for page in STEPS if page.name <= last.name], name)
    lines = (EXAMPLE / name).read_text().splitlines()
    return "\n".join(line for number, line in enumerate(lines) if number in shown or not line)


def _lines_shown(pages: list[Path], name: str) -> set[int]:
    text = (EXAMPLE / name).read_text()
    shown: set[int] = set()
    for page in pages:
        for file, block in BLOCK.findall(page.read_text()):
            if file == name:
                assert text.count(block) == 1, f"{page.name} shows code that is not in {name}, or twice:\n{block}"
                first = text[: text.index(block)].count("\n")
                shown |= set(range(first, first + block.count("\n")))
    return shown
