"""Parts of all demos: their directory, headlines, the application as code and as a tree, commands to try next."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeVar

from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from headrace._runtime.spark.session import java
from headrace.cli.drawing.sketch import sketch
from headrace.cli.errors import CommandError
from headrace.cli.loading import LoadedApplication
from headrace.cli.output.background import Background
from headrace.cli.output.console import console

T = TypeVar("T")


class Guide(NamedTuple):
    """A demo: its command, the file of its application, the tour in a directory, and commands to try afterwards."""

    command: str
    file: str
    tour: Callable[[Path], None]
    commands: str


def run_demo(guide: Guide, directory: Path | None, *, keep: bool) -> None:
    """Runs a demo in a directory; a temporary one is deleted at the end unless `keep`."""
    if directory is not None and directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        message = f"{str(directory)!r} exists and is not an empty directory. Choose a new one for the demo."
        raise CommandError(message)
    _check_spark()
    demo_directory = directory or Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    keep = keep or directory is not None
    try:
        demo_directory.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(__file__).with_name(guide.file), demo_directory / guide.file)
        guide.tour(demo_directory)
    finally:
        if not keep:
            shutil.rmtree(demo_directory, ignore_errors=True)
    _show_what_next(guide, demo_directory, exists=keep)


def _check_spark() -> None:
    """Reports what Spark lacks before the tour begins, not in the middle of it."""
    if find_spec("pyspark") is None:
        raise ModuleNotFoundError(name="pyspark")
    missing = java.problem()
    if missing is not None:
        raise CommandError(missing)


def headline(text: str) -> None:
    screen = console()
    screen.print()
    screen.print(Rule(f"[bold]{text}", align="left") if screen.is_terminal else f"== {text} ==")
    screen.print()


def introduce(question: str, loaded: LoadedApplication) -> None:
    """Shows the code that builds the topology, and the tree of its nodes."""
    screen = console()
    code = loaded.path.read_text(encoding="utf-8")
    code = code[code.index("builder = ") : code.index("topology = ")].rstrip()
    fancy = Syntax(code, "python", theme="ansi_dark", background_color="default")
    screen.print(question, "", fancy if screen.is_terminal else Text(code), "", sep="\n")
    screen.print("The topology, from input topic to output topic:", "", sketch(loaded.topology._graph), sep="\n")


def run_with_spinner(work: Callable[[], T], doing: str) -> T:
    """Runs work that takes a while, shows a spinner meanwhile, and returns the result."""
    with console().status(doing):
        running = Background(work)
        while not running.wait(0.1):
            pass
        return running.result()


def _show_what_next(guide: Guide, directory: Path, *, exists: bool) -> None:
    screen = console()
    headline("What next")
    if exists:
        screen.print(f"Everything is in {directory}: the application {guide.file}, its topics, its state. Try:\n")
    else:
        directory = Path("my-demo")
        screen.print("Run the demo again in a directory of your own, and look around there:\n")
        screen.print(f"{guide.command} --directory {directory}", style="cyan", soft_wrap=True)
    screen.print(guide.commands.format(directory=directory), style="cyan", soft_wrap=True)
    activate = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("headrace") is None and activate.exists():
        path = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        screen.print(f"\nThe command headrace is not on your PATH yet: source {path}", soft_wrap=True)
