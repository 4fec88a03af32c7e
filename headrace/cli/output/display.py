"""Shows the progress of a running application: a line that updates on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from headrace._runtime.spark.session import quiet
from headrace.cli.output.console import console
from headrace.cli.output.progress import Rate, Totals

_PLAIN_EVERY_S = 5.0

Show = Callable[[str, Totals], None]


@contextmanager
def progress(name: str) -> Iterator[Show]:
    """Yields a function that shows the current activity of an application and its totals."""
    screen = console(stderr=True)
    with _live(screen, name) if screen.is_terminal else _plain(screen, name) as show:
        yield show


@contextmanager
def _live(screen: Console, name: str) -> Iterator[Show]:
    spinner = Spinner("dots")
    rate = Rate()

    def show(doing: str, now: Totals) -> None:
        speed = rate.add(time.monotonic(), now.records_in)
        spinner.update(text=Text(f"{name} · {doing}{_figures(now, speed)}"))

    with Live(spinner, console=screen, transient=True, refresh_per_second=10), quiet.diverted(_Lines(screen).write):
        yield show


@contextmanager
def _plain(screen: Console, name: str) -> Iterator[Show]:
    rate = Rate(over_s=60)
    last: tuple[str, Totals] | None = None
    due_s = time.monotonic() + _PLAIN_EVERY_S

    def show(doing: str, now: Totals) -> None:
        nonlocal last, due_s
        at_s = time.monotonic()
        speed = rate.add(at_s, now.records_in)
        if (last is None or doing != last[0]) or (now != last[1] and at_s >= due_s):
            screen.print(Text(f"{name} · {doing}{_figures(now, speed)}"))
            last, due_s = (doing, now), at_s + _PLAIN_EVERY_S

    yield show


def _figures(now: Totals, speed: float) -> str:
    done = f" · batch {now.batches} · {now.records_in:,} in · {now.records_out:,} out" if now.batches else ""
    rate = f" · {speed:,.0f} records/s" if speed >= 1 else ""
    waiting = "" if now.waiting is None else f" · {now.waiting:,} waiting"
    return done + rate + waiting


class _Lines:
    """Prints the output of workers above the progress line. Holds back a line until it is complete."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._rest = b""

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._screen.print(Text(line.decode(errors="replace")), soft_wrap=True)
