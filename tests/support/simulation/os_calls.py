"""The parts of `os` and `Path` that the product uses, on a simulated disk: each call is a step of a process."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Self

from headrace import _files
from headrace._state.log import files as product
from tests.support.simulation.disk import ROOT, SimulatedDisk, SimulatedFile

_CODE = {module: compile(Path(module.__file__).read_text(), module.__file__, "exec") for module in (_files, product)}


def product_files(disk: SimulatedDisk) -> product.Files:
    """The product's own `DiskFiles`, running on a simulated disk."""
    calls = {"os": _SimulatedOs(disk), "Path": lambda path: SimulatedPath(disk, str(path))}
    shared = _load(_files, calls)
    return _load(product, calls | {"sync_directory": shared["sync_directory"]})["DiskFiles"](ROOT)


def _load(module: ModuleType, replaced: dict[str, Any]) -> dict[str, Any]:
    """A second copy of a module's globals, in which some names are replaced."""
    namespace: dict[str, Any] = {"__name__": __name__, "__file__": module.__file__}
    exec(_CODE[module], namespace)
    namespace |= replaced
    return namespace


class SimulatedPath:
    """The methods of `Path` that the product uses."""

    def __init__(self, disk: SimulatedDisk, path: str) -> None:
        self._disk = disk
        self._path = path

    def __str__(self) -> str:
        return self._path

    def __truediv__(self, name: str) -> SimulatedPath:
        return SimulatedPath(self._disk, f"{self._path}/{name}")

    @property
    def parent(self) -> SimulatedPath:
        return SimulatedPath(self._disk, self._path.rpartition("/")[0])

    def with_name(self, name: str) -> SimulatedPath:
        return self.parent / name

    def open(self, mode: str) -> _OpenFile:
        file = self._disk.create(self._path) if mode == "xb" else None
        return _OpenFile(self._disk, self._path, file)

    def unlink(self) -> None:
        self._disk.unlink(self._path)

    def is_dir(self) -> bool:
        return self._disk.is_directory(self._path)

    def mkdir(self, mode: int = 0o777, *, parents: bool = False, exist_ok: bool = False) -> None:
        if parents and self._path and not self.parent.is_dir():
            self.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._disk.make_directory(self._path)
        except FileExistsError:
            if not exist_ok:
                raise


class _OpenFile:
    def __init__(self, disk: SimulatedDisk, path: str, file: SimulatedFile | None) -> None:
        self._disk = disk
        self._path = path
        self._file = file
        self._content = disk.read(path) if file is None else b""
        self._at = 0
        self.closed = False

    def write(self, data: bytes) -> None:
        assert self._file is not None
        self._disk.write(self._file, self._path, data)

    def seek(self, at: int) -> None:
        self._at = at

    def read(self, length: int | None = None) -> bytes:
        return self._content[self._at :] if length is None else self._content[self._at : self._at + length]

    def flush(self) -> None:
        """Does nothing: there is no buffer, written data may reach the disk at any time."""

    def fileno(self) -> int:
        assert self._file is not None
        return self._disk.descriptor(self._file, self._path)

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _SimulatedOs:
    """The functions of `os` that the product uses."""

    O_RDONLY = os.O_RDONLY
    O_DIRECTORY = os.O_DIRECTORY
    O_WRONLY, O_CREAT, O_EXCL = os.O_WRONLY, os.O_CREAT, os.O_EXCL
    getpid = staticmethod(os.getpid)
    urandom = staticmethod(os.urandom)

    def __init__(self, disk: SimulatedDisk) -> None:
        self._disk = disk
        self.fsync = disk.sync
        self.close = disk.close

    def link(self, name: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        self._disk.link(self._path(name, src_dir_fd), self._path(new, dst_dir_fd))

    def unlink(self, name: str, *, dir_fd: int) -> None:
        self._disk.unlink(self._path(name, dir_fd))

    def listdir(self, descriptor: int) -> list[str]:
        return self._disk.list(self._disk.opened(descriptor)[1])

    def open(self, path: SimulatedPath | str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is None:
            return self._disk.open(str(path))
        path = self._path(str(path), dir_fd)
        return self._disk.descriptor(self._disk.create(path), path)

    def write(self, descriptor: int, data: bytes) -> int:
        file, path = self._disk.opened(descriptor)
        assert isinstance(file, SimulatedFile)
        self._disk.write(file, path, data)
        return len(data)

    def fstat(self, descriptor: int) -> SimpleNamespace:
        """Says that a directory still exists: none is ever deleted here."""
        return SimpleNamespace(st_nlink=1)

    def _path(self, name: str, directory: int) -> str:
        return f"{self._disk.opened(directory)[1]}/{name}"
