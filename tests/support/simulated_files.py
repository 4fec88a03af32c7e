"""A disk that forgets what was not synced, and processes on it that are stopped, killed and struck by power losses.

The product's own `DiskFiles` runs on it: the calls that it makes of `os` and `Path` are the steps between which
anything may happen. A disk in memory makes thousands of crashes cost seconds. Everything follows from one source of
random numbers, so that a seed tells the whole story again.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Self

from headrace._state.log import files as product

ROOT = "/disk/application"
_TOLD = 60


class Killed(BaseException):
    """The process does not exist any more; nothing it does after this has any effect."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.name)
        self.process = process


class _File:
    """A file's content as processes see it, and as much of it as the disk has."""

    __slots__ = ("data", "synced")

    def __init__(self) -> None:
        self.data = b""
        self.synced = b""


class _Directory:
    """The names in a directory as processes see them, those the disk has, and what was done to them since."""

    __slots__ = ("durable", "names", "unsynced")

    def __init__(self) -> None:
        self.names: dict[str, _File | _Directory] = {}
        self.durable: dict[str, _File | _Directory] = {}
        self.unsynced: list[tuple[str, _File | _Directory | None]] = []

    def put(self, name: str, node: _File | _Directory | None) -> None:
        _set(self.names, name, node)
        self.unsynced.append((name, node))

    def sync(self) -> None:
        for name, node in self.unsynced:
            _set(self.durable, name, node)
        self.unsynced.clear()


class SimulatedDisk:
    """Files and directories in memory. `step` is called before everything that a process does to them, `appeared` after
    it has given a name to a file.

    A file's content is safe when the file was synced, its name when the directory was: each without the other. A power
    loss leaves a beginning of what was written since, or zeros in its place, and any of the names that were made or
    removed; but of what was done to one name not the later without the earlier.
    """

    def __init__(self, step: Callable[[str, str], None]) -> None:
        self.step = step
        self.appeared: Callable[[str, bytes], None] = lambda path, data: None
        self._root = _Directory()
        self._directories: dict[str, _Directory] = {}
        self._descriptors: dict[int, tuple[_File | _Directory, str]] = {}
        self._numbers = count(3)
        for path in (ROOT.rpartition("/")[0], ROOT):
            self.make_directory(path)
            self._parent(path)[0].sync()

    def files(self) -> product.Files:
        """The product's files, on this disk."""
        namespace = {"__name__": __name__, "__file__": product.__file__}
        exec(_PRODUCT, namespace)
        namespace |= {"os": _SimulatedOs(self), "Path": lambda path: SimulatedPath(self, str(path))}
        return namespace["DiskFiles"](ROOT)

    def contents(self) -> dict[str, bytes]:
        """All files of the application; unlike everything else this is no step of a process."""
        return {
            f"{name}/{file}": node.data
            for name, directory in self._find_directory(ROOT).names.items()
            if isinstance(directory, _Directory)
            for file, node in directory.names.items()
            if isinstance(node, _File)
        }

    def replace_contents(self, contents: dict[str, bytes]) -> None:
        """The disk of one who has restored, moved or damaged files."""
        for directory in self._find_directory(ROOT).names.values():
            assert isinstance(directory, _Directory)
            directory.__init__()
        for path, data in contents.items():
            directory, name = self._parent(f"{ROOT}/{path}")
            file = _File()
            file.data = file.synced = data
            directory.put(name, file)
            directory.sync()

    def names(self, path: str) -> list[str]:
        """What a directory of the application has; this is no step either."""
        found = self._find(f"{ROOT}/{path}")
        return list(found.names) if isinstance(found, _Directory) else []

    def lose_power(self, random: Random) -> None:
        """Leaves what a file system may leave; all processes that used it are gone."""
        share = random.choice((0.0, 0.5, 0.5, 0.9, 1.0))
        self._settle(self._root, random, share)
        self._directories.clear()

    def create(self, path: str) -> _File:
        self.step("create", path)
        directory, name = self._parent(path)
        if name in directory.names:
            raise _error(errno.EEXIST, path)
        file = _File()
        directory.put(name, file)
        self.appeared(path, b"")
        return file

    def write(self, file: _File, path: str, data: bytes) -> None:
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
        if not isinstance(found, _Directory):
            raise _error(errno.ENOENT, path)
        return list(found.names)

    def is_directory(self, path: str) -> bool:
        self.step("look for", path)
        return isinstance(self._find(path), _Directory)

    def make_directory(self, path: str) -> None:
        self.step("make directory", path)
        directory, name = self._parent(path)
        if name in directory.names:
            raise _error(errno.EEXIST, path)
        directory.put(name, _Directory())

    def descriptor(self, node: _File | _Directory, path: str) -> int:
        number = next(self._numbers)
        self._descriptors[number] = node, path
        return number

    def open(self, path: str) -> int:
        found = self._find(path)
        if found is None:
            raise _error(errno.ENOENT, path)
        return self.descriptor(found, path)

    def opened(self, descriptor: int) -> tuple[_File | _Directory, str]:
        return self._descriptors[descriptor]

    def sync(self, descriptor: int) -> None:
        node, path = self.opened(descriptor)
        self.step("sync", path)
        if isinstance(node, _Directory):
            node.sync()
        else:
            node.synced = node.data

    def close(self, descriptor: int) -> None:
        del self._descriptors[descriptor]

    def _settle(self, directory: _Directory, random: Random, share: float) -> None:
        lost: set[str] = set()
        for name, node in directory.unsynced:
            if name in lost or random.random() >= share:
                lost.add(name)
            else:
                _set(directory.durable, name, node)
        directory.unsynced.clear()
        directory.names = dict(directory.durable)
        for node in directory.names.values():
            if isinstance(node, _Directory):
                self._settle(node, random, share)
            elif node.data != node.synced:
                node.data = node.synced = _torn(node, random, share)

    def _find(self, path: str) -> _File | _Directory | None:
        node: _File | _Directory | None = self._root
        for name in path.split("/")[1:]:
            node = node.names.get(name) if isinstance(node, _Directory) else None
        return node

    def _file(self, path: str) -> _File:
        directory, name = self._parent(path)
        found = directory.names.get(name)
        if not isinstance(found, _File):
            raise _error(errno.ENOENT, path)
        return found

    def _parent(self, path: str) -> tuple[_Directory, str]:
        parent, _, name = path.rpartition("/")
        return self._directories.get(parent) or self._find_directory(parent), name

    def _find_directory(self, path: str) -> _Directory:
        found = self._find(path) if path else self._root
        if not isinstance(found, _Directory):
            raise _error(errno.ENOENT, path)
        self._directories[path] = found
        return found


class SimulatedPath:
    """As much of a `Path` as the product uses."""

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

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        if parents and self._path and not self.parent.is_dir():
            self.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._disk.make_directory(self._path)
        except FileExistsError:
            if not exist_ok:
                raise


class _OpenFile:
    def __init__(self, disk: SimulatedDisk, path: str, file: _File | None) -> None:
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
        """There is no buffer: what was written may be on disk at any time."""

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
    """As much of `os` as the product uses."""

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
        assert isinstance(file, _File)
        self._disk.write(file, path, data)
        return len(data)

    def fstat(self, descriptor: int) -> SimpleNamespace:
        """The product asks whether a directory was deleted, which never happens here."""
        return SimpleNamespace(st_nlink=1)

    def _path(self, name: str, directory: int) -> str:
        return f"{self._disk.opened(directory)[1]}/{name}"


class Process:
    """What dies at once: memory, and all that is under way."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False


class Actor:
    """A process, or one that waits for another which it has started: the last of `processes` is the one that acts."""

    def __init__(self, name: str) -> None:
        self.processes = [Process(name)]
        self.stopped_until = 0
        self.ended = False
        self.turn = threading.Semaphore(0)

    @property
    def name(self) -> str:
        return self.processes[-1].name

    def kill(self) -> None:
        self.stopped_until = 0
        for process in self.processes:
            process.dead = True

    def die_if_dead(self) -> None:
        for process in self.processes:
            if process.dead:
                raise Killed(process)


# What may happen between two steps: nothing; the process, or it and the one that waits for it, is killed; the power
# fails; others go on for a moment, or for so many steps.
GO_ON, KILL, KILL_ALL, LOSE_POWER, SWITCH = range(5)
Fate = int


class Simulation:
    """Actors that take turns, one step at a time, in an order and to an end that the random numbers decide.

    Args:
        random: decides everything.
        fate: what happens to the present actor before its next step; a number above `SWITCH` stops it for so many.
    """

    def __init__(self, random: Random, fate: Callable[[Simulation, str, str], Fate]) -> None:
        self.random = random
        self.actors: list[Actor] = []
        self.current: Actor | None = None
        self.disk = SimulatedDisk(self.step)
        self.steps = 0
        self.crashes = 0
        self.power_losses = 0
        self.failure: BaseException | None = None
        self.when_power_fails: Callable[[], None] = lambda: None
        self._fate = fate
        self._main = threading.Semaphore(0)
        self._last_steps: deque[tuple[int, str, str]] = deque(maxlen=_TOLD)

    def spawn(self, name: str, body: Callable[[Actor], None]) -> Actor:
        """A new actor, which acts when it is its turn."""
        actor = Actor(name)
        self.actors.append(actor)
        threading.Thread(target=self._live, args=(actor, body), daemon=True).start()
        return actor

    def run(self) -> None:
        """Until no actor is left; raises what any of them found to be wrong."""
        while self.actors and self.failure is None:
            self.current = self._next()
            self.current.turn.release()
            self._main.acquire()
        for actor in list(self.actors):
            actor.kill()
            self.current = actor
            actor.turn.release()
            self._main.acquire()
        self.current = None
        if self.failure is not None:
            raise self.failure

    def step(self, what: str, where: str = "") -> None:
        """Before something that others can see: here anything may happen. Without an actor somebody only looks."""
        actor = self.current
        if actor is None:
            return
        actor.die_if_dead()
        self.steps += 1
        fate = self._fate(self, what, where)
        self._last_steps.append((fate, actor.name, f"{what} {where}"))
        if fate != GO_ON:
            self._meet(actor, fate)
            actor.die_if_dead()

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Looks at everything without a step."""
        actor, self.current = self.current, None
        try:
            yield
        finally:
            self.current = actor

    @contextmanager
    def process(self, name: str) -> Iterator[Process]:
        """The present actor starts a process and waits for it; that one may be killed alone."""
        actor = self.current
        assert actor is not None
        process = Process(name)
        actor.processes.append(process)
        try:
            yield process
        finally:
            process.dead = True
            actor.processes.remove(process)

    def rest(self, steps: int) -> None:
        """The present actor lets others go on, for so many steps if they have them."""
        actor = self.current
        assert actor is not None
        self._meet(actor, SWITCH + steps)
        actor.die_if_dead()

    def told(self) -> str:
        """The last steps, for one who wants to know how it came to this."""
        names = {GO_ON: "", KILL: "KILLED", KILL_ALL: "KILLED, all", LOSE_POWER: "POWER LOSS", SWITCH: "others go on"}
        lines = [
            f"  {name}: {names.get(fate, f'stopped for {fate} steps')}{', before: ' if fate else ''}{what}"
            for fate, name, what in self._last_steps
        ]
        return "\n".join(lines)

    def _meet(self, actor: Actor, fate: Fate) -> None:
        if fate == LOSE_POWER:
            self.crashes += 1
            self.power_losses += 1
            for other in self.actors:
                other.kill()
            self.disk.lose_power(self.random)
            try:
                self.when_power_fails()
            except BaseException as failure:
                self.failure = self.failure or failure  # the one that tells of it is dead, and may not come to that
                raise
        elif fate == KILL:
            self.crashes += 1
            actor.processes[-1].dead = True
        elif fate == KILL_ALL:
            self.crashes += 1
            actor.kill()
        else:
            actor.stopped_until = self.steps + (0 if fate == SWITCH else fate)
            other = self._next()
            if other is not actor:
                self.current = other
                other.turn.release()
                actor.turn.acquire()

    def _next(self) -> Actor:
        ready = [actor for actor in self.actors if actor.stopped_until <= self.steps]
        if ready:
            return self.random.choice(ready)
        return min(self.actors, key=lambda actor: actor.stopped_until)

    def _live(self, actor: Actor, body: Callable[[Actor], None]) -> None:
        actor.turn.acquire()
        try:
            actor.die_if_dead()
            body(actor)
        except Killed:
            pass
        except BaseException as failure:
            if self.failure is None:
                self.failure = failure
        actor.ended = True
        self.actors.remove(actor)
        if self.failure is None and self.actors and self.current is actor:
            self.current = self._next()
            self.current.turn.release()
        else:
            self._main.release()


_PRODUCT = compile(Path(product.__file__).read_text(), product.__file__, "exec")


def _set(names: dict[str, _File | _Directory], name: str, node: _File | _Directory | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _torn(file: _File, random: Random, share: float) -> bytes:
    if share == 1.0:
        return file.data
    if random.random() < share:
        left = random.randint(len(file.synced), len(file.data))
        rest = len(file.data) - left if random.random() < 0.3 else 0
        return file.data[:left] + bytes(rest)
    return file.synced


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
