"""The exceptions that count as errors of the user's code."""

from __future__ import annotations

from typing import Final

USER_ERRORS: Final = (Exception, SystemExit, GeneratorExit)
"""`sys.exit()` in a user's function is one of them, because it must not end a worker silently. `KeyboardInterrupt` is
not: Ctrl-C must end the program, whatever code is running."""
