"""`headrace new`: writes a project whose tests pass, and shows what to do with it."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from rich.text import Text

import headrace
from headrace.cli.errors import CommandError
from headrace.cli.output.console import console

_TEMPLATES = Path(__file__).with_name("templates")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
# Packages that the project needs. If the project had one of these names, pip would install the project instead.
_TAKEN = ("headrace", "pyspark", "pytest")


class _ProjectFile(NamedTuple):
    """A file of the project: its path, its template, and its purpose, which is printed."""

    path: str
    template: str
    purpose: str


_FILES = (
    _ProjectFile("app.py", "app.py.txt", "the topology and the settings of the application"),
    _ProjectFile("test_app.py", "test_app.py.txt", "its tests, which need neither Java nor Spark"),
    _ProjectFile("orders.jsonl", "orders.jsonl.txt", "sample input"),
    _ProjectFile("pyproject.toml", "pyproject.toml.txt", "the packages it needs"),
    _ProjectFile("Makefile", "Makefile.txt", "short names for the commands"),
    _ProjectFile(".github/workflows/test.yml", "workflow.yml.txt", "runs the tests on GitHub"),
    _ProjectFile("Dockerfile", "Dockerfile.txt", "an image with Java, Spark and the application"),
    _ProjectFile(".dockerignore", "dockerignore.txt", ""),
    _ProjectFile(".gitignore", "gitignore.txt", ""),
    _ProjectFile("README.md", "README.md.txt", "how to test, run and change it"),
)
_STEPS = (
    ("make setup", "creates .venv with Headrace, Spark and pytest"),
    ("make test", "runs the tests"),
    ("make input", "writes orders.jsonl to the topic orders"),
    ("make run", "processes it on Spark; needs Java 17 or newer"),
    ("make output", "shows the topic totals"),
)


def write_project(directory: Path, *, kafka: bool) -> None:
    """Writes the files of a new project, and prints them with the commands to try next.

    Raises:
        CommandError: if the directory is in use, or its name cannot be that of an application and of a package.
    """
    name = _checked_name(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        message = (
            f"{str(directory)!r} exists and is not an empty directory. Choose another name, or delete it if you do not "
            "need it."
        )
        raise CommandError(message)
    for file in _FILES:
        target = directory / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(render(file.template, name, kafka=kafka), encoding="utf-8")
    _show(directory, kafka=kafka)


def render(template: str, name: str, *, kafka: bool) -> str:
    """Fills in a template: replaces `{{name}}`, `{{image}}` and `{{versions}}`, and selects sections.

    The lines from `{{#kafka}}` to `{{/}}` stay if topics are on Kafka, those from `{{#embedded}}` if they are embedded.
    """
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    dropped = "embedded" if kafka else "kafka"
    text = re.sub(rf"^\{{\{{#{dropped}\}}\}}\n.*?^\{{\{{/\}}\}}\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\{\{(#\w+|/)\}\}\n", "", text, flags=re.MULTILINE)
    words = {"name": name, "image": name.lower(), "versions": _compatible_versions(headrace.__version__)}
    for word, value in words.items():
        text = text.replace(f"{{{{{word}}}}}", value)
    return text


def _compatible_versions(version: str) -> str:
    """The versions of Headrace that a project written by this one accepts: up to the next minor version."""
    major, minor = map(int, version.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}"


def _checked_name(directory: Path) -> str:
    name = Path(os.path.abspath(directory)).name  # noqa: PTH100  resolve() would follow links
    if not _NAME.fullmatch(name):
        advice = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:100].strip("._-") or "my-app"
        message = (
            f"{name!r} cannot be the name of a project: it needs 1 to 100 letters, digits, '.', '_' and '-', and "
            f"begins and ends with a letter or digit. Try: headrace new {shlex.quote(str(directory.parent / advice))}"
        )
        raise CommandError(message)
    if name.lower() in _TAKEN:
        message = f"{name!r} is the name of a package that the project needs. Try: headrace new my-{name.lower()}"
        raise CommandError(message)
    return name


def _show(directory: Path, *, kafka: bool) -> None:
    screen = console()
    screen.print(Text(f"Created {directory}:\n"), soft_wrap=True)
    _print_pairs([(file.path, file.purpose) for file in _FILES if file.purpose])
    screen.print("\nNext:\n")
    _print_pairs([(f"cd {shlex.quote(str(directory))}", ""), *_STEPS])
    if kafka:
        servers = "Kafka is expected at localhost:9092; set KAFKA_BOOTSTRAP_SERVERS if it is elsewhere."
        screen.print(f"\n{servers}", soft_wrap=True)


def _print_pairs(pairs: list[tuple[str, str]]) -> None:
    width = max(len(left) for left, right in pairs if right)
    for left, right in pairs:
        line = Text("  ").append(left, style="cyan")
        if right:
            line.append(" " * (width - len(left)) + f"  {right}")
        console().print(line, soft_wrap=True)
