"""Keys within windows, in the byte formats of Kafka's windowed serdes."""

from __future__ import annotations

import struct
from datetime import timedelta
from typing import Any, Generic

from headrace.errors import SerdeError
from headrace.model.time.windows import Window, Windowed, Windows, sized_window
from headrace.model.type_variables import TypeVar
from headrace.serdes.base import Serde
from headrace.serdes.wrapping.wrapping import Wrapping

K = TypeVar("K", default=Any)

_TIME = struct.Struct(">q")
_END_START = struct.Struct(">qq")


class WindowedKey(Wrapping[Windowed[K]], Generic[K]):
    """A key in a time window: the key's bytes, then the window's start in 8 bytes, big-endian.

    The end is not written, so a reader must know the size of the windows. With a wrong size it gets wrong ends.

    Args:
        inner: serde of the keys.
        size: how long the windows are, as a `timedelta` or in milliseconds. For a `Windows` class of your own, pass
            the windows themselves, which compute the end. Without a size, keys can be written but not read.

    Example:
        >>> from datetime import timedelta
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> serde = WindowedKey(serdes.String(), timedelta(milliseconds=10))
        >>> serde.serialize(hr.Windowed("k", hr.Window(10, 20))).hex(" ")
        '6b 00 00 00 00 00 00 00 0a'
        >>> print(serde.deserialize(bytes.fromhex("6b 000000000000000a")))
        [k@10/20]
    """

    suffix_size = _TIME.size
    _canonical_like_inner = True

    def __init__(self, inner: Serde[K] | None = None, size: timedelta | int | Windows | None = None) -> None:
        super().__init__(inner)
        self._windows = size if isinstance(size, Windows) else None
        if isinstance(size, Windows):
            size = size.size_ms
        self._size_ms = size // timedelta(milliseconds=1) if isinstance(size, timedelta) else size

    def _to_bytes(self, value: Windowed[K]) -> bytes:
        return _key_bytes(self.inner, value.key) + _TIME.pack(value.window.start_ms)

    def _from_bytes(self, data: bytes) -> Windowed[K]:
        if self._size_ms is None:
            message = f"{self!r} cannot tell where windows end; give it their size: WindowedKey(inner, timedelta(...))."
            raise SerdeError(message)
        start_ms: int = _TIME.unpack_from(data, len(data) - _TIME.size)[0]
        key: Any = self.inner.deserialize(data[: -_TIME.size])
        windows = self._windows
        return Windowed(
            key, sized_window(start_ms, self._size_ms) if windows is None else windows.window_from(start_ms)
        )


class SessionWindowedKey(Wrapping[Windowed[K]], Generic[K]):
    """A key in a session: the key's bytes, then the session's end and its start, 8 bytes each, big-endian.

    Args:
        inner: serde of the keys.

    Example:
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> serde = SessionWindowedKey(serdes.String())
        >>> serde.serialize(hr.Windowed("k", hr.Window(10, 20))).hex(" ", 8)
        '6b 0000000000000014 000000000000000a'
    """

    suffix_size = _END_START.size
    _canonical_like_inner = True

    def __init__(self, inner: Serde[K] | None = None) -> None:
        super().__init__(inner)

    def _to_bytes(self, value: Windowed[K]) -> bytes:
        return _key_bytes(self.inner, value.key) + _END_START.pack(value.window.end_ms, value.window.start_ms)

    def _from_bytes(self, data: bytes) -> Windowed[K]:
        end_ms, start_ms = _END_START.unpack_from(data, len(data) - _END_START.size)
        key: Any = self.inner.deserialize(data[: -_END_START.size])
        return Windowed(key, Window(start_ms, end_ms))


def _key_bytes(inner: Serde[Any], key: Any) -> bytes:
    raw = inner.serialize(key)
    if raw is None:
        raise ValueError("the key within the window is None")
    return raw
