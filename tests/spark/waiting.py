"""Waits for a running application. Spark's own `processAllAvailable` does not return while a fused round runs."""

from __future__ import annotations

import time
from datetime import timedelta

from headrace._runtime.spark.starting import committed_view
from headrace.cli.output.progress import Meter

_PAUSE = timedelta(milliseconds=20)


def wait_until(condition, app, within_s=120):
    """Waits until a condition holds; fails at once if the application ends."""
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s, f"the condition did not hold within {within_s} s"
        assert not app.await_termination(_PAUSE), "the application has ended"


def wait_until_caught_up(app):
    """Waits until all current input is committed."""
    meter = Meter(app._application._graph, app._application._config)
    wait_until(lambda: meter.read().waiting == 0, app)


def wait_until_idle(app, clock):
    """Waits until all current input is committed, and nothing is due on the clock."""
    meter, config = Meter(app._application._graph, app._application._config), app._application._config

    def is_idle():
        view = committed_view(config)
        if view is None or view.state.batch < view.start.first_batch:
            return False
        due_ms = view.state.alarm_ms
        return meter.read().waiting == 0 and (due_ms is None or due_ms > clock())

    wait_until(is_idle, app)
