"""Where the command line writes: tables and results to stdout, progress and errors to stderr."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

# A pipe has no width: nothing is wrapped or cut there.
_PIPE_WIDTH = 10_000


def console(*, stderr: bool = False) -> Console:
    """A console on what is stdout or stderr now."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def show_error(kind: str, message: str) -> None:
    """One red block, which names the kind of error and then says what the message says, unchanged."""
    errors = console(stderr=True)
    errors.print(Text(f"✗ {kind}", style="bold red"))
    errors.print(Text(message, style="red"), soft_wrap=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, right: Sequence[str] = ()) -> Table:
    """A table of plain text; the columns in `right` are aligned to the right."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things, in the right grammatical number."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
