"""What a user's function may raise to fail."""

from __future__ import annotations

from typing import Final

USER_ERRORS: Final = (Exception, SystemExit, GeneratorExit)
"""What counts as an error of the user's code. `sys.exit()` in a function must not end a worker without a word; Ctrl-C
arrives as `KeyboardInterrupt`, wherever the program is, and must end it."""
