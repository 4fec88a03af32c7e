"""The spec of the store of a windowed aggregation. Its retention must cover the time while windows accept records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace._graph.names import checked_name
from headrace.errors import TopologyError
from headrace.model.arguments import checked_duration
from headrace.model.stores.specs import SessionSpec, StoreSpec, TimestampedWindowSpec, WindowSpec
from headrace.model.time.windows import (
    AnyWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    Windows,
)
from headrace.serdes import Serde, SessionWindowedKey, WindowedKey

_FOREVER_MS = 1 << 62


def window_store(
    given: str | StoreSpec, windows: AnyWindows, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
) -> StoreSpec:
    """The spec of the store, from a name or from a spec made by `Stores.window` or `Stores.session`."""
    shortest_ms = _shortest_retention_ms(windows)
    kinds = (SessionSpec,) if isinstance(windows, SessionWindows) else (WindowSpec, TimestampedWindowSpec)
    if isinstance(given, str):
        name, retention_ms, cached = checked_name(given, "store"), shortest_ms, True
    elif isinstance(given, kinds):
        _refuse_other_windows(given, windows)
        name, retention_ms, cached = given.name, given.retention_ms, given.cached
        if isinstance(windows, UnlimitedWindows):
            message = f"Store {name!r} has a retention, but unlimited windows never expire. Pass only its name."
            raise TopologyError(message)
        key_serde, value_serde = given.key_serde or key_serde, given.value_serde or value_serde
        if retention_ms < shortest_ms:
            message = (
                f"Store {name!r} has a retention of {timedelta(milliseconds=retention_ms)}; {windows} need at least "
                f"{timedelta(milliseconds=shortest_ms)}."
            )
            raise TopologyError(message)
    else:
        factory = "session" if kinds == (SessionSpec,) else "window"
        message = f"A windowed aggregation cannot use store={given!r}; pass a name, or Stores.{factory}(...)."
        raise TopologyError(message)
    settings: dict[str, Any] = {"key_serde": key_serde, "value_serde": value_serde, "cached": cached}
    if isinstance(windows, SessionWindows):
        return SessionSpec(name=name, retention_ms=retention_ms, **settings)
    return TimestampedWindowSpec(
        name=name,
        retention_ms=retention_ms,
        window_size_ms=_size_ms(windows),
        windows=windows if isinstance(windows, Windows) else None,
        **settings,
    )


def _refuse_other_windows(given: StoreSpec, windows: AnyWindows) -> None:
    if not isinstance(given, WindowSpec | TimestampedWindowSpec) or isinstance(windows, SessionWindows):
        return
    if given.retain_duplicates:
        message = (
            f"Store {given.name!r} has retain_duplicates=True, but a windowed aggregation stores one aggregate for "
            "each key and window. Leave out retain_duplicates=."
        )
        raise TopologyError(message)
    size_ms = _size_ms(windows)
    if given.window_size_ms != size_ms and not isinstance(windows, UnlimitedWindows):
        message = (
            f"Store {given.name!r} has a window_size of {timedelta(milliseconds=given.window_size_ms)}, but {windows} "
            f"have a size of {timedelta(milliseconds=size_ms)}. Give the store window_size="
            f"{timedelta(milliseconds=size_ms)!r}."
        )
        raise TopologyError(message)


def windowed_key_serde(windows: AnyWindows, key_serde: Serde[Any] | None) -> Serde[Any]:
    """The serde of the windowed keys of the results."""
    if isinstance(windows, SessionWindows):
        return SessionWindowedKey(key_serde)
    return WindowedKey(key_serde, windows if isinstance(windows, Windows) else _size_ms(windows))


def checked_windows(windows: object) -> None:
    """Raises an error for anything but windows, and for windows of the user's own with an invalid size or grace."""
    if isinstance(windows, type) and issubclass(windows, Windows):
        message = f"windowed_by() was given the class {windows.__name__}; pass an object: {windows.__name__}(...)."
        raise TopologyError(message)
    if not isinstance(windows, AnyWindows):
        message = (
            f"windowed_by() was given {windows!r}; allowed: TimeWindows, SlidingWindows, SessionWindows, "
            "UnlimitedWindows, or an object of your own subclass of Windows."
        )
        raise TopologyError(message)
    if isinstance(windows, Windows):
        checked_duration(windows.grace, f"windowed_by(): the grace of {windows!r}", at_least_ms=0)
        size_ms = getattr(windows, "size_ms", None)
        if not isinstance(size_ms, int) or size_ms < 1:
            message = (
                f"windowed_by(): the size_ms of {windows!r} is {size_ms!r}; it must be the length of the longest "
                "window, 1 or more whole milliseconds."
            )
            raise TopologyError(message)


def _size_ms(windows: TimeWindows | SlidingWindows | UnlimitedWindows | Windows) -> int:
    return windows.difference_ms if isinstance(windows, SlidingWindows) else windows.size_ms


def _shortest_retention_ms(windows: AnyWindows) -> int:
    match windows:
        case SessionWindows():
            return windows.wait_ms
        case SlidingWindows():
            return 2 * windows.difference_ms + windows.wait_ms
        case UnlimitedWindows():
            return _FOREVER_MS
    return windows.size_ms + windows.wait_ms
