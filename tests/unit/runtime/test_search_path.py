"""Where a program's own modules are: beside the script, or in the current directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import headrace
from headrace._runtime.spark.workers.search_path import add_to_search_path

CODE = "from headrace._runtime.spark.workers.search_path import program_directory; print(program_directory())"


def run(*arguments, cwd, **environment):
    root = str(Path(headrace.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root, **environment}
    environment.pop("PYTHONSAFEPATH", None)
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_directory_of_a_program(tmp_path):
    scripts, elsewhere = tmp_path / "scripts", tmp_path / "elsewhere"
    for directory in (scripts, elsewhere):
        directory.mkdir()
        (directory / "app.py").write_text(CODE)
    assert run(str(scripts / "app.py"), cwd=elsewhere) == str(scripts.resolve())
    assert run("-m", "app", cwd=elsewhere) == str(elsewhere.resolve())
    assert run("-c", CODE, cwd=elsewhere) == str(elsewhere.resolve())
    assert run("-P", str(scripts / "app.py"), cwd=elsewhere) == "None"


def test_installed_programs_have_no_modules_of_their_own(tmp_path):
    (tmp_path / "test_one.py").write_text(f"def test_one():\n    {CODE}\n")
    assert "None" in run("-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", cwd=tmp_path)


def test_a_directory_is_added_once(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    for _ in range(2):
        add_to_search_path(tmp_path)
    assert os.environ["PYTHONPATH"] == f"{tmp_path}:/elsewhere"
