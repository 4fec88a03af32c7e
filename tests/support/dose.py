"""How many examples property tests try: all with the slow tests, fewer in `make test`, which everyone waits for."""

from __future__ import annotations

import os

_SHARE = 1.0 if os.environ.get("HEADRACE_DOSE") == "full" else 0.2


def examples(full: int) -> int:
    """So many of the full number."""
    return max(5, round(full * _SHARE))
