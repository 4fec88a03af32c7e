"""Replicas in memory, which cost no time."""

from __future__ import annotations

from headrace._state.bytes.memory import MemoryStore
from headrace._state.replica.position import ORIGIN


class MemoryReplica:
    """A replica in a dict. All processes share `copies`, as they share a local disk."""

    def __init__(self, copies, directory):
        self.directory = directory
        self._copies = copies

    def exists(self):
        return self.directory in self._copies

    def snapshot(self):
        return MemorySnapshot(*self._copies.get(self.directory, ({}, ORIGIN)))

    def apply(self, delta, before, after):
        stores, position = self._copies.get(self.directory, ({}, ORIGIN))
        if position != before:
            return False
        rebuild = MemoryRebuild({name: dict(entries) for name, entries in stores.items()})
        rebuild.apply(delta)
        self._copies[self.directory] = rebuild.stores, after
        return True

    def reset(self, position, fill):
        rebuild = MemoryRebuild({})
        fill(rebuild)
        self._copies[self.directory] = rebuild.stores, position

    def wipe(self):
        self._copies.pop(self.directory, None)

    def close(self):
        pass


class MemoryRebuild:
    def __init__(self, stores):
        self.stores = stores

    def apply(self, delta):
        for name, columns in delta.items():
            store = self.stores.setdefault(name, {})
            for key, value in zip(*columns, strict=True):
                if value is None:
                    store.pop(key, None)
                else:
                    store[key] = value

    append = apply


class MemorySnapshot:
    def __init__(self, stores, position):
        self.position = position
        self.stores = sorted(stores)
        self._stores = stores

    def reader(self, name):
        store = MemoryStore()
        store.put_many(self._stores.get(name, {}).items())
        return store

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
