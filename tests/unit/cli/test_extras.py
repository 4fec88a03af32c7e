"""A command that lacks a package says which commands would have it."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from headrace.cli import main
from headrace.cli.extras import missing_extra
from headrace.cli.program import program


def test_the_advice_repeats_the_whole_command(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/bin/headrace", "demo", "--directory", "my demo"])
    assert missing_extra(ModuleNotFoundError(name="pyspark.sql")) == (
        "headrace demo --directory 'my demo' needs pyspark, which is not installed. It comes with the extra 'spark':\n"
        "  pip install 'headrace[spark,cli]'\n"
        "Or, without installing anything:\n"
        "  uvx --from 'headrace[spark,cli]' headrace demo --directory 'my demo'\n"
        "  pipx run --spec 'headrace[spark,cli]' headrace demo --directory 'my demo'"
    )


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_for_commands_the_script_says_so(missing, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("headrace.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr(sys, "argv", ["headrace", "demo"])
    with pytest.raises(SystemExit) as refused:
        main()
    assert str(refused.value).startswith(f"headrace demo needs {missing}, which is not installed.")


def test_a_demo_without_pyspark_ends_before_it_begins(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setattr(sys, "argv", ["headrace", "demo"])
    result = CliRunner().invoke(program, ["demo"])
    assert (result.stdout, result.exit_code) == ("", 1)
    assert result.stderr.startswith("✗ Error\nheadrace demo needs pyspark, which is not installed.")


def test_a_demo_without_java_ends_before_it_begins(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(program, ["demo"])
    assert (result.stdout, result.exit_code) == ("", 1)
    assert result.stderr.startswith("✗ Error\nRunning on Spark needs Java 17 or newer: none was found.")


def test_another_missing_module_is_no_matter_of_extras():
    assert missing_extra(ModuleNotFoundError(name="somebodys_module")) is None
