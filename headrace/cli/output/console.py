"""Consoles of the command line: tables and results go to stdout, progress and errors to stderr."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

# A pipe has no width: nothing is wrapped or truncated there.
_PIPE_WIDTH = 10_000


def console(*, stderr: bool = False) -> Console:
    """A console on the current stdout or stderr."""
    terminal = Console(stderr=stderr, highlight=False)
    return terminal if terminal.is_terminal else Console(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def show_error(kind: str, message: str) -> None:
    """Prints an error in red: its kind, then the message, unchanged."""
    errors = console(stderr=True)
    errors.print(Text(f"✗ {kind}", style="bold red"))
    errors.print(Text(message, style="red"), soft_wrap=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, right: Sequence[str] = ()) -> Table:
    """A table of plain text; the columns in `right` are aligned to the right."""
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        result.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        result.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return result


def pluralize(number: int, one: str, many: str | None = None) -> str:
    """A number with a noun in the singular or plural: "1 record", "2 records"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
