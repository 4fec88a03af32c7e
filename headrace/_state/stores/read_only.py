"""A store that a processor can only read."""

from __future__ import annotations

from typing import Any

from headrace.errors import StateError

_WRITES = frozenset(("put", "put_all", "put_if_absent", "delete", "remove", "write", "expire"))


class ReadOnlyView:
    """Passes reads on to a typed store. Writes raise a `StateError` with `reason`, even if they would change nothing.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> from headrace._state.stores.key_value import TypedKeyValueStore
        >>> store = TypedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long())
        >>> store.put("bern", 3)
        >>> view = ReadOnlyView(store, "Store 'visits' can only be read.")
        >>> view.get("bern")
        3
        >>> view.delete("basel")
        Traceback (most recent call last):
        headrace.errors.StateError: Store 'visits' can only be read.
    """

    def __init__(self, store: Any, reason: str) -> None:
        self._store = store
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        if name in _WRITES:
            raise StateError(self._reason)
        return getattr(self._store, name)
