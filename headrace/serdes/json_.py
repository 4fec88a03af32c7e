"""JSON values."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from headrace.serdes.base import Serde


def _plain(value: Any) -> Any:
    """What a subclass of a number or a text stands for, such as the times of a processor's context."""
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    message = f"Encoding objects of type {type(value).__name__} is unsupported"
    raise NotImplementedError(message)


_encode = msgspec.json.Encoder(enc_hook=_plain).encode
_decode = msgspec.json.Decoder().decode


class Json(Serde[Any]):
    """Values as compact JSON: dicts, lists, text, numbers, booleans; dataclasses are written as dicts, sets as lists.

    Example:
        >>> Json().deserialize(Json().serialize({"page": "/", "n": 1}))
        {'page': '/', 'n': 1}
    """

    def _to_bytes(self, value: Any) -> bytes:
        return _encode(value)

    def _from_bytes(self, data: bytes) -> Any:
        return _decode(data)

    def accepts_all(self, column: pa.Array) -> bool:
        """Whether every value of a binary column is JSON; equal values are looked at once."""
        try:
            for data in column.unique().drop_null().to_pylist():
                _decode(data)
        except msgspec.MsgspecError:
            return False
        return True
