"""Stops a process at a named step of a commit, so that a test can kill it there, or let other processes continue.

`STOP_AT="step batch file"` in the environment: the first process that reaches this step in this batch writes its id to
the file and stops itself with SIGSTOP. A step is named after what the process has just done.
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
    """Makes this process stop at the step in the environment, if there is one."""
    if "STOP_AT" in os.environ:
        name, batch, file = os.environ["STOP_AT"].rsplit(" ", 2)
        _StopPoint(name, int(batch), Path(file)).install()


class _StopPoint:
    def __init__(self, name, batch, file):
        self.name, self.batch, self.file = name, batch, file

    def install(self):
        self.wrap(StateLog, "start", "started", lambda log, before, start, *_: start.first_batch)
        self.wrap(StateLog, "plan", "planned", lambda log, before, plan: plan.batch)
        self.wrap(StateLog, "commit", "committed", lambda log, before, commit: commit.batch)
        self.wrap(StateLog, "commit", "about to commit", lambda log, before, commit: commit.batch, after=False)
        self.wrap(ObjectWriter, "finish", "state written", lambda writer: int(writer.name.split("-")[1]))
        for backend in (EmbeddedBackend, KafkaBackend):
            # `write` does not know its batch, and reading it from the log could change the behaviour under test.
            self.wrap(backend, "write", "output written", lambda *_: self.batch)
            self.wrap(backend, "publish", "published", lambda backend, plan, state: state.batch)

    def wrap(self, owner, method, name, batch_of, *, after=True):
        if name != self.name:
            return
        original = getattr(owner, method)

        @wraps(original)
        def stop_around(*given, **named):
            if not after:
                self.stop(batch_of(*given, **named))
            result = original(*given, **named)
            if after:
                self.stop(batch_of(*given, **named))
            return result

        setattr(owner, method, stop_around)

    def stop(self, batch):
        if batch < self.batch:
            return
        try:
            with self.file.open("x") as file:
                file.write(f"{os.getpid()}")
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGSTOP)
