"""The command line: `headrace demo`, `run`, `describe`, `topics`, `store`, `reset`."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `headrace` command."""
    try:
        from headrace.cli.program import program
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The headrace command needs {error.name}. Install it with: pip install 'headrace[cli]'")
    program()
