"""Windows and suppressions of a description, as Headrace's objects."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import headrace as hr
from conformance.topologies.own_windows import Shifts


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def windows_of(options: dict[str, Any]) -> Any:
    """The windows of an aggregation."""
    durations = {name: ms(value) for name, value in options.items() if name not in ("type", "start")}
    match options["type"]:
        case "time":
            return hr.TimeWindows.of(durations.pop("size"), **durations)
        case "sliding":
            return hr.SlidingWindows.of(durations.pop("difference"), **durations)
        case "session":
            return hr.SessionWindows.of(durations.pop("gap"), **durations)
        case "own":
            return Shifts(options["size"], options["offset"], options.get("rest", 0), ms(options["grace"]))
    return hr.UnlimitedWindows.starting_at(options["start"])


def suppression_of(options: dict[str, Any]) -> Any:
    """Until when a table holds its updates back."""
    limited = hr.BufferConfig.max_records(options["max_records"]) if "max_records" in options else None
    if "limit" in options:
        return hr.Suppressed.until_time_limit(ms(options["limit"]), buffer=limited or hr.BufferConfig.unbounded())
    return hr.Suppressed.until_window_closes(buffer=limited and limited.shut_down_when_full())
