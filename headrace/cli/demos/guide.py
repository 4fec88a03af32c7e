"""What the demos share: a directory to play in, headlines, an application shown as code and drawn, what to try next."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from headrace.cli.drawing.sketch import sketch
from headrace.cli.errors import CommandError
from headrace.cli.loading import Loaded
from headrace.cli.output.background import Background
from headrace.cli.output.console import console

T = TypeVar("T")


class Guide(NamedTuple):
    """A demo: how it is called, its file, the tour through it in a directory, and commands to go on with there."""

    command: str
    file: str
    tour: Callable[[Path], None]
    commands: str


def give(guide: Guide, directory: Path | None, *, keep: bool) -> None:
    """Gives the tour in a directory; a temporary one is removed at the end unless it is to be kept."""
    if directory is not None and directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        message = f"{str(directory)!r} exists and is not an empty directory. Give the demo a new one."
        raise CommandError(message)
    home = directory or Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    kept = keep or directory is not None
    try:
        home.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(__file__).with_name(guide.file), home / guide.file)
        guide.tour(home)
    finally:
        if not kept:
            shutil.rmtree(home, ignore_errors=True)
    _what_next(guide, home, kept=kept)


def headline(text: str) -> None:
    screen = console()
    screen.print()
    screen.print(Rule(f"[bold]{text}", align="left") if screen.is_terminal else f"== {text} ==")
    screen.print()


def introduce(question: str, loaded: Loaded) -> None:
    """Shows the topology's part of the file, and the tree of its nodes."""
    screen = console()
    code = loaded.path.read_text(encoding="utf-8")
    code = code[code.index("builder = ") : code.index("topology = ")].rstrip()
    fancy = Syntax(code, "python", theme="ansi_dark", background_color="default")
    screen.print(question, "", fancy if screen.is_terminal else Text(code), "", sep="\n")
    screen.print("From topic to topic:", "", sketch(loaded.topology._graph), sep="\n")


def waited_for(work: Callable[[], T], doing: str) -> T:
    """The result of work that takes a while, with a sign of life."""
    with console().status(doing):
        running = Background(work)
        while not running.wait(0.1):
            pass
        return running.result()


def _what_next(guide: Guide, home: Path, *, kept: bool) -> None:
    screen = console()
    headline("What next")
    if kept:
        screen.print(f"Everything is in {home}: the application {guide.file}, its topics, its state. Try:\n")
    else:
        home = Path("my-demo")
        screen.print("Run it again in a directory of your own, and look around there:\n")
        screen.print(f"{guide.command} --directory {home}", style="cyan", soft_wrap=True)
    screen.print(guide.commands.format(home=home), style="cyan", soft_wrap=True)
    activate = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("headrace") is None and activate.exists():
        shown = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        screen.print(f"\nThe command headrace is not on your PATH yet: source {shown}", soft_wrap=True)
