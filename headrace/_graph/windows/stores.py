"""The spec of the store of a windowed aggregation. Its retention must cover the time while windows accept records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace._graph.names import checked_name
from headrace._graph.stores import SessionSpec, StoreSpec, TimestampedWindowSpec, WindowSpec
from headrace.errors import TopologyError
from headrace.model.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows, Windows
from headrace.serdes import Serde, SessionWindowedKey, WindowedKey

_FOREVER_MS = 1 << 62


def window_store(
    given: str | StoreSpec, windows: Windows, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
) -> StoreSpec:
    """The spec of the store, from a name or from a spec made by `Stores.window` or `Stores.session`."""
    shortest_ms = _shortest_retention_ms(windows)
    kind = SessionSpec if isinstance(windows, SessionWindows) else WindowSpec
    if isinstance(given, str):
        name, retention_ms = checked_name(given, "store"), shortest_ms
    elif isinstance(given, kind):
        name, retention_ms = given.name, given.retention_ms
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
        if isinstance(given, WindowSpec):
            _check_window_spec(given, windows)
    else:
        factory = "session" if kind is SessionSpec else "window"
        message = f"A windowed aggregation cannot use store={given!r}; pass a name, or Stores.{factory}(...)."
        raise TopologyError(message)
    serdes: dict[str, Any] = {"key_serde": key_serde, "value_serde": value_serde}
    if isinstance(windows, SessionWindows):
        return SessionSpec(name=name, retention_ms=retention_ms, **serdes)
    return TimestampedWindowSpec(name=name, retention_ms=retention_ms, window_size_ms=_size_ms(windows), **serdes)


def _check_window_spec(given: WindowSpec, windows: Windows) -> None:
    """Refuses options that would have no effect: the windows decide the size, and each has one aggregate."""
    assert not isinstance(windows, SessionWindows)
    if given.retain_duplicates:
        message = (
            f"Store {given.name!r} has retain_duplicates=True, but a windowed aggregation stores one aggregate for "
            "each key and window. Leave out retain_duplicates=."
        )
        raise TopologyError(message)
    size_ms = _size_ms(windows)
    if given.window_size_ms != size_ms:
        message = (
            f"Store {given.name!r} has a window_size of {timedelta(milliseconds=given.window_size_ms)}, but {windows} "
            f"have a size of {timedelta(milliseconds=size_ms)}. Give the store window_size="
            f"{timedelta(milliseconds=size_ms)!r}."
        )
        raise TopologyError(message)


def windowed_key_serde(windows: Windows, key_serde: Serde[Any] | None) -> Serde[Any]:
    """The serde of the windowed keys of the results."""
    return (
        SessionWindowedKey(key_serde)
        if isinstance(windows, SessionWindows)
        else WindowedKey(key_serde, _size_ms(windows))
    )


def checked_windows(windows: object) -> None:
    if not isinstance(windows, Windows):
        message = (
            f"windowed_by() was given {windows!r}; allowed: TimeWindows, SlidingWindows, SessionWindows, "
            "UnlimitedWindows."
        )
        raise TopologyError(message)


def _size_ms(windows: TimeWindows | SlidingWindows | UnlimitedWindows) -> int:
    return windows.difference_ms if isinstance(windows, SlidingWindows) else windows.size_ms


def _shortest_retention_ms(windows: Windows) -> int:
    match windows:
        case SessionWindows():
            return windows.wait_ms
        case SlidingWindows():
            return 2 * windows.difference_ms + windows.wait_ms
        case UnlimitedWindows():
            return _FOREVER_MS
    return windows.size_ms + windows.wait_ms
