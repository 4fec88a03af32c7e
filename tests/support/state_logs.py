"""Reads the state log of an application, for tests that watch it from outside."""

from __future__ import annotations

from headrace._runtime.spark.state_directory.log import open_log


def newest_committed(state_dir):
    """The newest committed batch, -1 before the first."""
    view = open_log(str(state_dir), "watched").view()
    return -1 if view is None else view.state.batch


def newest_begun(state_dir):
    """The newest batch that is planned or committed, -1 before the first."""
    view = open_log(str(state_dir), "watched").view()
    if view is None:
        return -1
    return view.state.batch + (view.unfinished is not None)
