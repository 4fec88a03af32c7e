"""A directory on a real disk that loses, when the power fails, what was not synced."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path


class ForgetfulDirectory:
    """Remembers what was synced below a directory, by `sync` in place of `os.fsync`.

    Syncing a file makes its content durable, syncing its directory makes its name durable: each without the other. A
    power loss keeps any prefix of the unsynced content, possibly followed by zeros, and any of the unsynced names.
    """

    def __init__(self, root):
        self._root = Path(root)
        self._names = {}
        self._contents = {}
        self._open = {}

    def sync(self, descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_dir():
            self._names[path] = self._names_in(path)
        else:
            self._contents[self._hold(path)] = path.read_bytes()

    def lose_power(self, random):
        """Leaves only what a file system may keep. All processes must be dead."""
        kept = self._kept(self._root, random)
        for descriptor in self._open.values():
            os.close(descriptor)
        self.__init__(self._root)
        for path in self._root.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        self._restore(self._root, kept)

    def _kept(self, directory, random):
        now, synced = self._names_in(directory), self._names.get(directory, {})
        kept = {}
        for name in sorted(now.keys() | synced.keys()):
            inode = random.choice((now, synced)).get(name)
            if inode is not None:
                path = directory / name
                kept[name] = self._kept(path, random) if path.is_dir() else self._content(inode, random)
        return kept

    def _content(self, inode, random):
        synced = self._contents.get(inode, b"")
        now = os.pread(self._open[inode], 1 << 30, 0)
        if random.random() < 0.7:
            return random.choice((synced, now))
        left = random.randint(min(len(synced), len(now)), len(now))
        return now[:left] + bytes(random.choice((0, len(now) - left)))

    def _restore(self, directory, kept):
        for name, content in kept.items():
            path = directory / name
            if isinstance(content, dict):
                path.mkdir()
                self._restore(path, content)
            else:
                path.write_bytes(content)
                self._contents[self._hold(path)] = content
        self._names[directory] = self._names_in(directory)

    def _names_in(self, directory):
        return {path.name: self._hold(path) for path in directory.iterdir()}

    def _hold(self, path):
        """The inode of a file, which no other file gets as long as this one is open."""
        inode = path.stat().st_ino
        if inode not in self._open:
            self._open[inode] = os.open(path, os.O_RDONLY)
        return inode

    def close(self):
        for descriptor in self._open.values():
            with suppress(OSError):
                os.close(descriptor)
