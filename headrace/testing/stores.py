"""The stores that `driver.store()` returns: state stores of the tested topology, to read and to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from headrace._suggestions.attributes import hints_for, suggestion
from headrace.errors import StateError, UnknownNameError, known_names
from headrace.model.stores.interfaces import ReadOnlyTimestampedKeyValueStore, ReadOnlyVersionedKeyValueStore
from headrace.model.stores.specs import (
    RecordBufferSpec,
    StoreSpec,
    SuppressBufferSpec,
    TimestampedKeyValueSpec,
    UnmatchedSpec,
)
from headrace.model.time.windows import Windowed
from headrace.serdes import SessionWindowedKey, WindowedKey

if TYPE_CHECKING:
    from headrace.testing.driver import TopologyTestDriver

K = TypeVar("K")
V = TypeVar("V")

_WRITES = ("put", "put_if_absent", "delete", "remove")
_ONLY_READ = (SuppressBufferSpec, RecordBufferSpec, UnmatchedSpec)


class WritableTimestampedKeyValueStore(ReadOnlyTimestampedKeyValueStore[K, V], Protocol[K, V]):
    """What `driver.store()` returns for a table, an aggregation or `Stores.timestamped_key_value`.

    Reads return values without timestamps, except `get_with_timestamp` and the view that `with_timestamps` returns.
    """

    def put(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Stores a value with its timestamp; a value of `None` removes the key."""

    def put_if_absent(self, key: K, value: V | None, timestamp_ms: int) -> V | None:
        """Stores a value unless the key already has one; returns the value that the key had, or `None`."""

    def delete(self, key: K) -> V | None:
        """Removes a key; returns the value that it had, or `None`."""


class WritableVersionedKeyValueStore(ReadOnlyVersionedKeyValueStore[K, V], Protocol[K, V]):
    """Reads and writes a versioned store in a test: what `driver.store()` returns for `Stores.versioned_key_value`.

    Reads return values alone, except `get_with_timestamp` and `versions`.
    """

    def put(self, key: K, value: V | None, timestamp_ms: int) -> int:
        """Stores a version; returns the time until which it is valid, as `VersionedKeyValueStore.put` does."""

    def delete(self, key: K, timestamp_ms: int) -> object:
        """Marks the key as deleted from a time on; returns the version that was valid at that time, or `None`."""


class TestStore:
    """A state store of a tested topology, with the methods for reads of `app.store()` and for writes of processors.

    It always shows the committed contents, of all tasks or of one. A write is committed at once. It changes the store
    in the task of the key's partition, and operators do not see it as a record.
    """

    __test__ = False

    def __init__(self, driver: TopologyTestDriver, spec: StoreSpec, partition: int | None) -> None:
        self._driver = driver
        self._spec = spec
        self._partition = partition

    def __repr__(self) -> str:
        return f"TestStore({self._spec.name!r})"

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *(name for name in dir(self._view()) if not name.startswith("_")), *_WRITES]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in (*_WRITES, "put_all") and not isinstance(self._spec, _ONLY_READ):
            return self._put_all if name == "put_all" else partial(self._write, name)
        view = self._view()
        if hasattr(view, name):
            return getattr(view, name)
        known = [method for method in dir(view) if not method.startswith("_")]
        kind = type(self._spec).__name__.removesuffix("Spec")
        advice = suggestion(name, [*known, *_WRITES], hints_for(type(view)))
        message = f"Store {self._spec.name!r}, a {kind} store, has no {name!r}.{advice} Reads: {known_names(known)}."
        raise UnknownNameError(message)

    def _view(self) -> Any:
        name = self._spec.name
        parts = self._driver._open().stores_named(name, self._partition)
        return self._driver._defaults.view(self._driver._graph, name, parts)

    def _write(self, method: str, key: Any, *arguments: Any, **named: Any) -> Any:
        """Calls a method of the store in the task that has the key."""

        def change(store: Any) -> Any:
            if not hasattr(store, method):
                message = f"Store {self._spec.name!r} of type {type(store).__name__} has no method {method!r}."
                raise AttributeError(message)
            return getattr(store, method)(key, *arguments, **named)

        result = self._change(key, change)
        is_pair = isinstance(self._spec, TimestampedKeyValueSpec) and isinstance(result, tuple)
        return result[0] if is_pair else result

    def _put_all(self, entries: Iterable[tuple[Any, ...]]) -> None:
        """Puts every entry, a tuple of the arguments of `put`, in order."""
        for key, *arguments in entries:
            self._write("put", key, *arguments)

    def _change(self, key: Any, change: Callable[[Any], Any]) -> Any:
        runtime = self._driver._open()
        partition = self._partition
        if partition is None:
            partition = runtime.partition_of_key(self._spec.name, *self._routed_bytes(key))
        return runtime.change_store(self._spec.name, partition, change)

    def _routed_bytes(self, key: Any) -> tuple[bytes, int | None]:
        """Returns the serialized key, and how many bytes at its end encode a window and do not affect the partition."""
        key_serde, _ = self._driver._defaults.serdes(self._spec)
        windowed = isinstance(key_serde, WindowedKey | SessionWindowedKey)
        routed = key_serde.serialize(key.key if isinstance(key, Windowed) and not windowed else key)
        if routed is None:
            message = f"Store {self._spec.name!r} cannot store an entry without a key."
            raise StateError(message)
        return routed, key_serde.suffix_size if isinstance(key_serde, WindowedKey | SessionWindowedKey) else None
