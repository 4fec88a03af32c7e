"""Random options of operators: windows, join windows, suppressions, stores. Times are small, so that edges are hit."""

from __future__ import annotations

from random import Random
from typing import Any


def maybe_store(rng: Random) -> dict[str, Any]:
    """Chooses whether a table gets a store, named or versioned. That decides which old values it knows."""
    chance = rng.random()
    if chance < 0.05:
        return {"history": rng.choice((5, 20, 100))}
    return {"store": True} if chance < 0.35 else {}


def maybe_window_store(rng: Random) -> dict[str, Any]:
    return {"store": True} if rng.random() < 0.3 else {}


def window_options(rng: Random) -> dict[str, Any]:
    grace = rng.choice((0, 0, 2, 10, 30))
    match rng.choice(("time", "hopping", "sliding", "session", "unlimited", "own")):
        case "time":
            return {"type": "time", "size": rng.choice((5, 10, 30)), "grace": grace}
        case "hopping":
            size, advance = rng.choice(((10, 4), (10, 5), (9, 2), (30, 10)))
            return {"type": "time", "size": size, "advance": advance, "grace": grace}
        case "sliding":
            return {"type": "sliding", "difference": rng.choice((1, 5, 10)), "grace": grace}
        case "session":
            return {"type": "session", "gap": rng.choice((1, 3, 8)), "grace": grace}
        case "own":
            size = rng.choice((5, 10))
            rest = {"rest": rng.choice((1, size))} if rng.random() < 0.5 else {}
            return {"type": "own", "size": size, "offset": rng.choice((0, 3, 20)), **rest, "grace": grace}
    return {"type": "unlimited", "start": rng.choice((0, 10))}


def join_windows(rng: Random) -> dict[str, int]:
    options = {"difference": rng.choice((0, 3, 10)), "grace": rng.choice((0, 0, 5, 20))}
    match rng.choice(("same", "same", "before", "after", "both")):
        case "before":
            options["before"] = rng.choice((0, 1, 10))
        case "after":
            options["after"] = rng.choice((0, 1, 10))
        case "both":
            options["before"], options["after"] = rng.choice(((10, 3), (0, 7), (-2, 5), (6, -1), (1, 0)))
    return options


def suppression(rng: Random, *, windowed: bool) -> dict[str, int]:
    limit = {"max_records": rng.choice((1, 2, 3))} if rng.random() < 0.25 else {}
    if windowed and rng.random() < 0.7:
        return limit
    return {"limit": rng.choice((0, 3, 10, 40)), **limit}
