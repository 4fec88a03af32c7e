"""The base of all typed stores: bytes, serdes for keys and values, and a name for messages."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from headrace._state.bytes.api import ByteStore
from headrace._suggestions.attributes import suggest_attributes
from headrace.errors import StateError
from headrace.serdes import Serde

K = TypeVar("K")

_log = logging.getLogger(__name__)


@suggest_attributes
class TypedStore(Generic[K]):
    """A store whose keys and values are converted to and from the bytes in `contents` by serdes."""

    def __init__(self, contents: ByteStore, key_serde: Serde[K], value_serde: Serde[Any], *, name: str = "") -> None:
        self.contents = contents
        self.name = name
        self.key_serde = key_serde
        self.value_serde = value_serde
        self._key_to_bytes = key_serde.serialize
        self._value_to_bytes = value_serde.serialize
        # A serde returns None only for None, and stored keys and values are never None.
        self._read_key = cast("Callable[[bytes], K]", key_serde.deserialize)
        self._read_value = cast("Callable[[bytes], Any]", value_serde.deserialize)

    def key_bytes(self, key: K) -> bytes:
        """The serialized key."""
        raw = self._key_to_bytes(key)
        if raw is None:
            message = f"Store {self.name!r}: the key is None; every key of a store must have a value."
            raise StateError(message)
        return raw

    def _decode_entry(self, raw: bytes) -> Any:
        """What a read returns for a stored value: the value alone, unless more is stored with it."""
        return self._read_value(raw)

    def _bounds(self, from_key: K | None, to_key: K | None) -> tuple[bytes | None, bytes | None] | None:
        """The serialized first and last key of a range; `None`, with a warning, if the first is greater."""
        first = None if from_key is None else self.key_bytes(from_key)
        last = None if to_key is None else self.key_bytes(to_key)
        if first is None or last is None or first <= last:
            return first, last
        _log.warning(
            "Store %r: the range from %r to %r is empty, as the serialized first key is greater than the last; "
            "with numbers, negative keys order after positive ones.",
            self.name,
            from_key,
            to_key,
        )
        return None
