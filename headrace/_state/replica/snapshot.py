"""An immutable snapshot of a replica: one LMDB read transaction, with a reader for each store."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from headrace._state.bytes.api import ByteReader
from headrace._state.bytes.memory import MemoryStore
from headrace._state.replica.environment import Environment
from headrace._state.replica.position import ORIGIN, Position
from headrace._state.replica.reader import LmdbReader

# Keys of LMDB's main database, where each store's name is a key as well; no store name starts with NUL.
POSITION_SLOT = b"\x00position"


def empty_slot(store: str) -> bytes:
    """The key in the main database for the value of a store's empty key."""
    return b"\x00empty\x00" + store.encode()


class Snapshot:
    """The content of a replica at one moment. Close it after use: while open it keeps old pages from being reused."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._begin()
        unopened = [store for store in self.stores if store not in environment.databases]
        if unopened:
            # LMDB cannot open a database within this read transaction, so it is started again afterwards.
            self._txn.abort()
            environment.open_databases(unopened)
            self._begin()

    def reader(self, store: str) -> ByteReader:
        """The reader of one store; a store never written reads as empty."""
        if store not in self.stores:
            return MemoryStore()
        return LmdbReader(self._txn, self._environment.databases[store], empty_slot(store))

    def close(self) -> None:
        self._txn.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        self._txn = self._environment.begin()
        raw = self._txn.get(POSITION_SLOT)
        self.position = ORIGIN if raw is None else Position.from_bytes(raw)
        with self._txn.cursor() as cursor:
            found = cursor.set_range(b"\x01")
            # LMDB 1.0 ends the names with a NUL.
            self.stores: list[str] = (
                [name.rstrip(b"\x00").decode() for name in cursor.iternext(values=False)] if found else []
            )
