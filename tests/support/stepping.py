"""Stops the process that comes to a named step of a commit, so that a test can kill it there, or let others go on.

`STOP_AT="step batch file"` in the environment: the first process that comes to this step in this batch leaves its id in
the file and stops itself with SIGSTOP. Steps are named after what has just been done.
"""

from __future__ import annotations

import os
import signal
from functools import wraps
from pathlib import Path

from headrace._runtime.spark.topics.embedded import EmbeddedBackend
from headrace._runtime.spark.topics.kafka import KafkaBackend
from headrace._state.log.objects import ObjectWriter
from headrace._state.log.state_log import StateLog

STEPS = ("started", "planned", "state written", "output written", "about to commit", "committed", "published")


def install():
    """Has this process stop where the environment says; does nothing without."""
    if "STOP_AT" in os.environ:
        name, batch, file = os.environ["STOP_AT"].rsplit(" ", 2)
        _Stopping(name, int(batch), Path(file)).install()


class _Stopping:
    def __init__(self, name, batch, file):
        self.name, self.batch, self.file = name, batch, file

    def install(self):
        self.wrap(StateLog, "start", "started", lambda log, before, start: start.first_batch)
        self.wrap(StateLog, "plan", "planned", lambda log, before, plan: plan.batch)
        self.wrap(StateLog, "commit", "committed", lambda log, before, commit: commit.batch)
        self.wrap(StateLog, "commit", "about to commit", lambda log, before, commit: commit.batch, after=False)
        self.wrap(ObjectWriter, "finish", "state written", lambda writer: int(writer.name.split("-")[1]))
        for home in (EmbeddedBackend, KafkaBackend):
            # The batch that is being written is not known there; the log is not asked, to change nothing.
            self.wrap(home, "write", "output written", lambda *_: self.batch)
            self.wrap(home, "publish", "published", lambda home, plan, state: state.batch)

    def wrap(self, owner, method, name, batch_of, *, after=True):
        if name != self.name:
            return
        original = getattr(owner, method)

        @wraps(original)
        def stopping(*given, **named):
            if not after:
                self.stop(batch_of(*given, **named))
            result = original(*given, **named)
            if after:
                self.stop(batch_of(*given, **named))
            return result

        setattr(owner, method, stopping)

    def stop(self, batch):
        if batch < self.batch:
            return
        try:
            with self.file.open("x") as file:
                file.write(f"{os.getpid()}")
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGSTOP)
