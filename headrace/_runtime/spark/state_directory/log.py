"""The state directory of an application: its log, kept open between batches, and checks of who may write."""

from __future__ import annotations

from functools import cache

from headrace._runtime.spark.planning.plan import Plan
from headrace._state.log.files import DiskFiles
from headrace._state.log.state_log import LogView, StateLog


def state_log(plan: Plan) -> StateLog:
    """The log of a running plan; a process keeps it, so that each batch reads only what is new."""
    return _opened(plan.state_dir, plan.application_id, plan.sync_state)


@cache
def _opened(state_dir: str, application_id: str, sync: bool) -> StateLog:
    return open_log(state_dir, application_id, sync=sync)


def open_log(state_dir: str, application_id: str, *, sync: bool = True) -> StateLog:
    """The log of a state directory, read from its beginning."""
    return StateLog(DiskFiles(state_dir, sync=sync), f"Application {application_id!r} on {state_dir!r}")


def current_view(plan: Plan, before: int | None = None) -> LogView:
    """The present state, for whoever works on the batch after `before`.

    Raises:
        TakenOverError: if the application was started again or reset since, or another has committed that batch.
    """
    log = state_log(plan)
    view = log.view()
    own = view is not None and view.epoch == plan.epoch and view.start.instance == plan.instance
    if view is None or not own or (before is not None and view.state.batch != before):
        raise log.superseded(plan.epoch, plan.instance)
    return view
