"""Shows errors of commands as one readable block instead of a traceback."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from headrace.cli.errors import CommandError
from headrace.cli.extras import missing_extra
from headrace.cli.output.console import show_error
from headrace.errors import StreamsError


class Commands(TyperGroup):
    """Shows every error as one readable block, with exit code 1; `--debug`, at any position, shows the traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["debug"] = "--debug" in args
        return super().parse_args(ctx, [arg for arg in args if arg != "--debug"])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        for name, group in self.commands.items():
            if args[0] not in self.commands and args[0] in getattr(group, "commands", ()):
                message = f"There is no command {args[0]!r}. Write: headrace {name} {shlex.join(args)}"
                raise CommandError(message)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output, e.g. `head`, has closed the pipe. Python must not write to it at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except Exception as error:
            # Typer shows its own errors, e.g. wrong options; these have an exit code.
            if ctx.meta["debug"] or hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise
            show_error(*_describe(error))
        raise typer.Exit(1)


def _describe(error: Exception) -> tuple[str, str]:
    if isinstance(error, StreamsError):
        return "Error" if isinstance(error, CommandError) else type(error).__name__, str(error)
    if isinstance(error, ModuleNotFoundError) and (advice := missing_extra(error)):
        return "Error", advice
    if isinstance(error, OSError):
        return "Error", f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
    first = next(iter(str(error).splitlines()), "")
    return "Error", f"Unexpected {type(error).__name__}: {first}\nAdd --debug to see the traceback."
