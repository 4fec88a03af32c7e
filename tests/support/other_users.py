"""Runs functions as other users of this machine. Needs root."""

from __future__ import annotations

import os
import pickle
import traceback
from pathlib import Path

import pytest

OWNER, OTHER = 65533, 65534

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def as_user(user, call):
    """Calls a function in a child process of that user and returns its result; an error of the child is raised here."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            os.umask(0o022)
            answer = (call(), None)
        except BaseException as error:
            error.add_note(traceback.format_exc())
            answer = (None, error)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result, error = pickle.load(pipe)
    os.waitpid(pid, 0)
    if error is not None:
        raise error
    return result


def readable_files(root):
    """The files and directories below `root` that the current user can read."""
    found = []
    for directory, _, files in os.walk(root):
        found.append(Path(directory))
        found += [path for name in files if os.access(path := Path(directory) / name, os.R_OK)]
    return found
