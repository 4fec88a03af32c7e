"""A command that lacks a package says which commands would have it."""

from __future__ import annotations

import sys

import pytest

from headrace.cli import main
from headrace.cli.extras import missing_extra


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


def test_another_missing_module_is_no_matter_of_extras():
    assert missing_extra(ModuleNotFoundError(name="somebodys_module")) is None
