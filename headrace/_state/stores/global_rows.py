"""The rows of a global table as processors see them."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

from headrace._state.stores.key_value import Timestamped, TypedTimestampedKeyValueStore
from headrace.errors import StateError

K = TypeVar("K")
V = TypeVar("V")


class GlobalRows(TypedTimestampedKeyValueStore[K, V], Generic[K, V]):
    """A read-only timestamped store: every task has a copy, and all copies must stay equal.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> rows = GlobalRows(MemoryStore(), serdes.String(), serdes.Json(), name="pages")
        >>> rows.put("/", "Home", 5)
        Traceback (most recent call last):
        headrace.errors.StateError: Store 'pages' belongs to a global table: ...
    """

    def write(self, key_bytes: bytes, value: V | None, timestamp_ms: int) -> int:  # noqa: ARG002
        self._refuse()

    def put_if_absent(self, key: K, value: V | None, timestamp_ms: int) -> Timestamped[V] | None:  # noqa: ARG002
        self._refuse()

    def delete(self, key: K) -> Timestamped[V] | None:  # noqa: ARG002
        self._refuse()

    def _refuse(self) -> NoReturn:
        message = (
            f"Store {self.name!r} belongs to a global table: processors can only read it. Write to its topic instead, "
            "with to() or a sink."
        )
        raise StateError(message)
