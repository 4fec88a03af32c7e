"""The LMDB environments that are open in this process, by path.

LMDB refuses to open an environment twice in a process, so this module counts the users of each.

An environment may stay open without users: it is idle then. Its pages stay mapped, so the next batch of a large store
reads and writes it in about two thirds of the time. LMDB allows that other processes write to it meanwhile. But LMDB
would notice replaced or damaged files only when it opens them, so an idle environment is used again only if its files
have not changed.
"""

from __future__ import annotations

import os
import resource
import shutil
from itertools import count
from pathlib import Path

import lmdb

from headrace._state.replica.environment import MAP_SIZE, Environment, ReplicaDamage

_ATTEMPTS = 3
# How much stays open without users. Mapped pages count as memory of the process, though the system may reclaim them.
_MAX_IDLE = 64
_MAX_IDLE_BYTES = 1 << 30
_MAX_IDLE_RELEASES = 1024
_OPEN_FILES_PER_IDLE = 16  # an environment needs four, and the rest of the process some, too

_used: dict[str, Environment] = {}
# Idle environments, in the order in which `release` checks them, each with the number of its own release.
_idle: dict[str, tuple[Environment, int]] = {}
_releases = count()


def acquire(path: Path, map_size: int = MAP_SIZE) -> Environment:
    """Opens the environment at `path`, or creates it if it is missing or damaged. Call `release` when done."""
    shared = _used.get(str(path))
    if shared is not None and shared.is_usable:
        shared.users += 1
        return shared
    environment = _take_idle(path)
    if environment is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        environment = _open_or_create(path, map_size)
    environment.users = 1
    _used[str(path)] = environment
    return environment


def _take_idle(path: Path) -> Environment | None:
    environment, _ = _idle.pop(str(path), (None, 0))
    if environment is not None and not environment.resume():
        environment.close()
        return None
    return environment


def _open_or_create(path: Path, map_size: int) -> Environment:
    for _ in range(_ATTEMPTS):
        try:
            return Environment(path, map_size)
        except (ReplicaDamage, OSError) as error:
            if close_idle():
                continue  # idle environments may have used up the address space or the file descriptors of this process
            if isinstance(error, lmdb.MemoryError) or not isinstance(error, ReplicaDamage | FileNotFoundError):
                raise
            # It is damaged, or another process is just replacing it.
            discard(path)
    return Environment(path, map_size)


def release(environment: Environment, *, stays_open: bool = False) -> None:
    """Ends one use of an environment. After the last use it is closed or, with `stays_open`, becomes idle.

    Later releases of other environments close an idle one if its files have changed, or if it was idle for long.
    """
    environment.users -= 1
    if environment.users:
        return
    is_current = _is_registered(environment)
    unregister(environment)
    number = next(_releases)
    _check_next_idle(number)
    if stays_open and is_current and environment.is_usable and _has_room_for(environment):
        environment.set_idle()
        _idle[str(environment.path)] = environment, number
    else:
        environment.close()


def _check_next_idle(number: int) -> None:
    """Closes the next idle environment if its files have changed or it was idle for long. Each call checks another."""
    key = next(iter(_idle), None)
    if key is not None:
        environment, since = _idle.pop(key)
        if environment.is_as_left() and number - since <= _MAX_IDLE_RELEASES:
            _idle[key] = environment, since
        else:
            environment.close()


def _has_room_for(environment: Environment) -> bool:
    address_space, open_files = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE))
    if address_space != resource.RLIM_INFINITY:
        return False
    at_most = _MAX_IDLE if open_files == resource.RLIM_INFINITY else min(_MAX_IDLE, open_files // _OPEN_FILES_PER_IDLE)
    mapped = environment.size + sum(other.size for other, _ in _idle.values())
    return len(_idle) < at_most and mapped <= _MAX_IDLE_BYTES


def close_idle() -> bool:
    """Closes all environments without users; returns whether there were any."""
    closed = list(_idle.values())
    _idle.clear()
    for environment, _ in closed:
        environment.close()
    return bool(closed)


# A forked child must not use an environment of its parent, and LMDB refuses to open it there again.
os.register_at_fork(before=close_idle)


def unregister(environment: Environment) -> None:
    """Makes the next `acquire` of its path open the files again; current users keep this environment."""
    if _is_registered(environment):
        del _used[str(environment.path)]


def _is_registered(environment: Environment) -> bool:
    return _used.get(str(environment.path)) is environment


def replace(path: Path, fresh: Environment) -> None:
    """Moves the environment `fresh` to `path`, where later calls of `acquire` find it.

    Current users of the old environment keep that one. If another process moves its own environment to `path` during
    every attempt, the files of `fresh` are deleted, but it can be used until it is released.
    """
    for _ in range(_ATTEMPTS):
        discard(path)
        try:
            fresh.path.rename(path)
        except FileNotFoundError:
            return
        except OSError:
            # Another process has moved its own environment there in the meantime.
            continue
        fresh.path = path
        _used[str(path)] = fresh
        return
    discard(fresh.path)


def discard(path: Path) -> None:
    """Removes the files of an environment at once, even if processes have them open; closes it if it has no users."""
    environment, _ = _idle.pop(str(path), (None, 0))
    if environment is not None:
        environment.close()
    doomed = path.with_name(f"doomed-{os.urandom(8).hex()}")
    try:
        path.rename(doomed)
    except OSError:
        return
    shutil.rmtree(doomed, ignore_errors=True)
