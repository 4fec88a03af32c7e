"""Directories that no other user of the machine can read or change.

In a directory that everyone may write to, such as /tmp, another user can create any name before its owner does. Spark's
JVM runs programs from our directories, and replicas hold the user's data. So a directory is used only if it belongs to
this user and nobody else may enter it.
"""

from __future__ import annotations

import os
import pwd
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from headrace.errors import ConfigError


def temporary_directory() -> Path:
    """Returns a private directory for this user's temporary files.

    If another user has already created a directory of that name, it is the cache directory in the home instead.

    Raises:
        ConfigError: if neither is private.
    """
    try:
        return private_directory(_named(Path(tempfile.gettempdir())), "Set TMPDIR to a directory of your own.")
    except ConfigError as refusal:
        try:
            return cache_directory()
        except ConfigError:
            raise refusal from None


def directory_in(local_dir: Path) -> Path:
    """Returns this user's private directory in `local_dir`, which several users may share.

    Raises:
        ConfigError: if another user could read or change it.
    """
    try:
        local_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"local_dir {str(local_dir)!r} cannot be created: {error.strerror}. Set local_dir to a directory."
        raise ConfigError(message) from error
    return private_directory(_named(local_dir), "Delete it, or set local_dir to a directory of your own.")


def cache_directory() -> Path:
    """Returns this user's cache directory. It is in the home, where other users cannot create it first.

    Raises:
        ConfigError: if another user could read or change it.
    """
    base, advice = os.environ.get("XDG_CACHE_HOME"), "Set XDG_CACHE_HOME to a directory of your own."
    try:
        parent = Path(base) if base else Path.home() / ".cache"
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        message = f"The cache directory of user {_user(os.getuid())} cannot be created: {error}. {advice}"
        raise ConfigError(message) from error
    return private_directory(parent / "headrace", advice)


def private_directory(path: Path, advice: str) -> Path:
    """Creates a directory that only this user may enter, or checks the existing one, and returns its path.

    `advice` is added to error messages as their last sentence.

    Raises:
        ConfigError: if it cannot be created, is a link or a file, belongs to another user, or others may enter it.
    """
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
    except OSError as error:
        message = f"{str(path)!r} cannot be created: {error.strerror}. {advice}"
        raise ConfigError(message) from error
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
        return path
    kind = "a link" if stat.S_ISLNK(found.st_mode) else "a directory" if stat.S_ISDIR(found.st_mode) else "a file"
    message = (
        f"{str(path)!r} is not private: it is {kind} of user {_user(found.st_uid)} with mode "
        f"{stat.S_IMODE(found.st_mode):04o}; it must be a directory of user {_user(os.getuid())} with mode 0700, so "
        f"that no other user can read state or run code. {advice}"
    )
    raise ConfigError(message)


def _named(parent: Path) -> Path:
    return parent / f"headrace-{os.getuid()}"


def _user(number: int) -> str:
    try:
        return f"{pwd.getpwuid(number).pw_name!r} ({number})"
    except KeyError:
        return str(number)
