"""Figures about the last micro-batches, from the entries of the state log that still exist."""

from __future__ import annotations

from typing import Any

from headrace._state.log.entries import Commit
from headrace._state.log.state_log import LogView, StateLog


def recent_batches(view: LogView, log: StateLog) -> dict[str, Any]:
    """The number of committed batches, and the speed and durations of the last ones."""
    figures: dict[str, Any] = {"batches": view.state.batch + 1}
    commits = log.recent_commits()
    if commits:
        figures["records_per_s"] = _records_per_s(commits)
        figures["batch_ms"] = _quantiles([commit.duration_ms for commit in commits])
    return figures


def _records_per_s(commits: list[Commit]) -> float:
    """Records per second from the planning of the first batch to the last commit."""
    elapsed_ms = commits[-1].time_ms - commits[0].time_ms + commits[0].duration_ms
    return round(sum(commit.records for commit in commits) * 1000 / max(elapsed_ms, 1), 1)


def _quantiles(values: list[int]) -> dict[str, int]:
    ordered = sorted(values)
    last = len(ordered) - 1
    return {"p50": ordered[last // 2], "p90": ordered[last * 9 // 10], "max": ordered[last]}
