"""Lets a process die at any call that changes a disk: what it wrote before is there, and nothing after."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock


class Death(BaseException):
    """The process was killed."""


class MortalProcess:
    """Counts calls that change files, and dies at the one that `die_at` says; a restart brings it back to life.

    `sync` replaces `os.fsync`. By default nothing is synced: a process dies here, not a machine.
    """

    def __init__(self, sync=lambda descriptor: None):
        self._left = None
        self._sync = sync

    def die_at(self, call):
        self._left = call

    def restart(self):
        self._left = None

    @contextmanager
    def installed(self):
        """Within the block, the process may die at any change of a file."""
        pwrite, unlink, opened, replace = os.pwrite, Path.unlink, Path.open, Path.replace

        def torn(descriptor, data, position):
            if self._left == 0:
                pwrite(descriptor, data[: len(data) // 2], position)
            self._step()
            return pwrite(descriptor, data, position)

        def step(original):
            def act(*given, **named):
                self._step()
                return original(*given, **named)

            return act

        def step_if_new(path, mode="r", *given, **named):
            if "x" in mode:
                self._step()
            return opened(path, mode, *given, **named)

        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(os, "pwrite", torn))
            stack.enter_context(mock.patch.object(os, "fsync", step(self._sync)))
            stack.enter_context(mock.patch.object(Path, "unlink", step(unlink)))
            stack.enter_context(mock.patch.object(Path, "replace", step(replace)))
            stack.enter_context(mock.patch.object(Path, "open", step_if_new))
            yield self

    def _step(self):
        if self._left is None:
            return
        if self._left <= 0:
            raise Death
        self._left -= 1
