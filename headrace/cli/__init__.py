"""The command line: `headrace demo`, `new`, `run`, `describe`, `topics`, `store`, `reset`, `prepare`."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `headrace` command."""
    try:
        from headrace.cli.program import program
    except ModuleNotFoundError as error:
        from headrace.cli.extras import missing_extra

        advice = missing_extra(error)
        if advice is None:
            raise
        sys.exit(advice)
    program()
