"""Opens the state log of an application, and checks that a plan may still write to it."""

from __future__ import annotations

from functools import cache

from headrace._runtime.spark.planning.plan import Plan
from headrace._state.log.files import DiskFiles
from headrace._state.log.state_log import LogView, StateLog


def state_log(plan: Plan) -> StateLog:
    """The log of a running plan, cached in this process so that each batch reads only new entries."""
    return _open_cached(plan.state_dir, plan.application_id, plan.sync_state)


@cache
def _open_cached(state_dir: str, application_id: str, sync: bool) -> StateLog:
    return open_log(state_dir, application_id, sync=sync)


def open_log(state_dir: str, application_id: str, *, sync: bool = True) -> StateLog:
    """Opens the log of a state directory anew. It has no cached view, unlike that of `state_log`."""
    return StateLog(DiskFiles(state_dir, sync=sync), f"Application {application_id!r} on {state_dir!r}")


def current_view(plan: Plan, before: int | None = None) -> LogView:
    """The current view of the log. With `before`, this batch must still be the last committed one.

    Raises:
        TakenOverError: if the application was started again or reset, or another attempt has committed a later batch.
    """
    log = state_log(plan)
    view = log.view()
    is_own = view is not None and view.epoch == plan.epoch and view.start.instance == plan.instance
    if view is None or not is_own or (before is not None and view.state.batch != before):
        raise log.superseded(plan.epoch, plan.instance)
    return view
