"""A disk in memory that loses unsynced data in a power loss."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from itertools import count
from random import Random

ROOT = "/disk/application"


class SimulatedFile:
    """A file: its content as processes see it, and the content that survives a power loss."""

    __slots__ = ("data", "synced")

    def __init__(self) -> None:
        self.data = b""
        self.synced = b""


class SimulatedDirectory:
    """A directory: its names as processes see them, the names that survive a power loss, and the unsynced changes."""

    __slots__ = ("durable", "names", "unsynced")

    def __init__(self) -> None:
        self.names: dict[str, _Node] = {}
        self.durable: dict[str, _Node] = {}
        self.unsynced: list[tuple[str, _Node | None]] = []

    def put(self, name: str, node: _Node | None) -> None:
        _set(self.names, name, node)
        self.unsynced.append((name, node))

    def sync(self) -> None:
        for name, node in self.unsynced:
            _set(self.durable, name, node)
        self.unsynced.clear()


_Node = SimulatedFile | SimulatedDirectory


class SimulatedDisk:
    """Files and directories in memory. Calls `step` before each operation, `appeared` after a file got a name.

    Syncing a file makes its content durable, syncing its directory makes its name durable: each without the other. A
    power loss keeps any prefix of the unsynced content, possibly followed by zeros, and any of the unsynced changes of
    names; but if it keeps a change of a name, it also keeps all earlier changes of the same name.
    """

    def __init__(self, step: Callable[[str, str], None]) -> None:
        self.step = step
        self.appeared: Callable[[str, bytes], None] = lambda path, data: None
        self._root = SimulatedDirectory()
        self._directories: dict[str, SimulatedDirectory] = {}
        self._descriptors: dict[int, tuple[_Node, str]] = {}
        self._numbers = count(3)
        for path in (ROOT.rpartition("/")[0], ROOT):
            self.make_directory(path)
            self._parent(path)[0].sync()

    def contents(self) -> dict[str, bytes]:
        """All files of the application with their content. This is not a step of a process."""
        return {
            f"{name}/{file}": node.data
            for name, directory in self._find_directory(ROOT).names.items()
            if isinstance(directory, SimulatedDirectory)
            for file, node in directory.names.items()
            if isinstance(node, SimulatedFile)
        }

    def replace_contents(self, contents: dict[str, bytes]) -> None:
        """Replaces all files, as if a user had restored, moved or damaged them."""
        for directory in self._find_directory(ROOT).names.values():
            assert isinstance(directory, SimulatedDirectory)
            directory.__init__()
        for path, data in contents.items():
            directory, name = self._parent(f"{ROOT}/{path}")
            file = SimulatedFile()
            file.data = file.synced = data
            directory.put(name, file)
            directory.sync()

    def names(self, path: str) -> list[str]:
        """The names in a directory of the application. This is not a step of a process."""
        found = self._find(f"{ROOT}/{path}")
        return list(found.names) if isinstance(found, SimulatedDirectory) else []

    def lose_power(self, random: Random) -> None:
        """Keeps only what a file system may keep; the caller kills all processes."""
        share = random.choice((0.0, 0.5, 0.5, 0.9, 1.0))
        self._drop_unsynced(self._root, random, share)
        self._directories.clear()

    def create(self, path: str) -> SimulatedFile:
        self.step("create", path)
        directory, name = self._parent(path)
        if name in directory.names:
            raise _error(errno.EEXIST, path)
        file = SimulatedFile()
        directory.put(name, file)
        self.appeared(path, b"")
        return file

    def write(self, file: SimulatedFile, path: str, data: bytes) -> None:
        self.step("write", path)
        file.data += data

    def read(self, path: str) -> bytes:
        self.step("read", path)
        return self._file(path).data

    def link(self, path: str, new: str) -> None:
        self.step("link", new)
        file = self._file(path)
        directory, name = self._parent(new)
        if name in directory.names:
            raise _error(errno.EEXIST, new)
        directory.put(name, file)
        self.appeared(new, file.data)

    def unlink(self, path: str) -> None:
        self.step("unlink", path)
        self._file(path)
        directory, name = self._parent(path)
        directory.put(name, None)

    def list(self, path: str) -> list[str]:
        self.step("list", path)
        found = self._find(path)
        if not isinstance(found, SimulatedDirectory):
            raise _error(errno.ENOENT, path)
        return list(found.names)

    def is_directory(self, path: str) -> bool:
        self.step("look for", path)
        return isinstance(self._find(path), SimulatedDirectory)

    def make_directory(self, path: str) -> None:
        self.step("make directory", path)
        directory, name = self._parent(path)
        if name in directory.names:
            raise _error(errno.EEXIST, path)
        directory.put(name, SimulatedDirectory())

    def descriptor(self, node: _Node, path: str) -> int:
        number = next(self._numbers)
        self._descriptors[number] = node, path
        return number

    def open(self, path: str) -> int:
        found = self._find(path)
        if found is None:
            raise _error(errno.ENOENT, path)
        return self.descriptor(found, path)

    def opened(self, descriptor: int) -> tuple[_Node, str]:
        return self._descriptors[descriptor]

    def sync(self, descriptor: int) -> None:
        node, path = self.opened(descriptor)
        self.step("sync", path)
        if isinstance(node, SimulatedDirectory):
            node.sync()
        else:
            node.synced = node.data

    def close(self, descriptor: int) -> None:
        del self._descriptors[descriptor]

    def _drop_unsynced(self, directory: SimulatedDirectory, random: Random, share: float) -> None:
        lost: set[str] = set()
        for name, node in directory.unsynced:
            if name in lost or random.random() >= share:
                lost.add(name)
            else:
                _set(directory.durable, name, node)
        directory.unsynced.clear()
        directory.names = dict(directory.durable)
        for node in directory.names.values():
            if isinstance(node, SimulatedDirectory):
                self._drop_unsynced(node, random, share)
            elif node.data != node.synced:
                node.data = node.synced = _torn(node, random, share)

    def _find(self, path: str) -> _Node | None:
        node: _Node | None = self._root
        for name in path.split("/")[1:]:
            node = node.names.get(name) if isinstance(node, SimulatedDirectory) else None
        return node

    def _file(self, path: str) -> SimulatedFile:
        directory, name = self._parent(path)
        found = directory.names.get(name)
        if not isinstance(found, SimulatedFile):
            raise _error(errno.ENOENT, path)
        return found

    def _parent(self, path: str) -> tuple[SimulatedDirectory, str]:
        parent, _, name = path.rpartition("/")
        return self._directories.get(parent) or self._find_directory(parent), name

    def _find_directory(self, path: str) -> SimulatedDirectory:
        found = self._find(path) if path else self._root
        if not isinstance(found, SimulatedDirectory):
            raise _error(errno.ENOENT, path)
        self._directories[path] = found
        return found


def _set(names: dict[str, _Node], name: str, node: _Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _torn(file: SimulatedFile, random: Random, share: float) -> bytes:
    if share == 1.0:
        return file.data
    if random.random() < share:
        left = random.randint(len(file.synced), len(file.data))
        rest = len(file.data) - left if random.random() < 0.3 else 0
        return file.data[:left] + bytes(rest)
    return file.synced


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
