"""How many examples property tests try: all with the slow tests, fewer in `make test`, which everyone waits for."""

from __future__ import annotations

import os
from collections.abc import Sequence

FULL = os.environ.get("HEADRACE_DOSE") == "full"
_SHARE = 1.0 if FULL else 0.15
_ONE_OF = 1 if FULL else 4


def examples(full: int) -> int:
    """How many examples to run, given their number in a full dose."""
    return max(5, round(full * _SHARE))


def sample(items: Sequence) -> Sequence:
    """Every fourth item; in a full dose, all items."""
    return items[::_ONE_OF]
