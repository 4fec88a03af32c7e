"""Whole applications, and tables of windows as inputs of further operators."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology
from conformance.topologies.windows import session_windows, time_windows, windowed


@topology("clicks-per-country")
def clicks_per_country(builder: hr.StreamsBuilder, **windows: int) -> None:
    """The first example of the documentation: clicks with the country of their user, final counts per window."""
    clicks: Any = builder.stream("clicks")
    (
        clicks.join(builder.table("users", store="users-store"), lambda _, country: country)
        .group_by(lambda _, country: country)
        .windowed_by(time_windows(**windows))
        .count()
        .suppress(hr.Suppressed.until_window_closes())
        .to_stream()
        .to("out")
    )


@topology("clicks-and-views")
def clicks_and_views(builder: hr.StreamsBuilder, *, difference: int, grace: int) -> None:
    """Clicks with or without the view before them, collected by their first letter."""
    clicks: Any = builder.stream("clicks")
    within = hr.JoinWindows.of(ms(difference), grace=ms(grace))
    by_head = clicks.left_join(builder.stream("views"), f.joined, within=within).group_by(
        lambda _, value: f.head(value)
    )
    by_head.aggregate(f.empty, lambda _, value, aggregate: f"{aggregate}{value};").to_stream().to("out")


@topology("time-window-filtered-count")
def time_filtered_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, time_windows(**windows)).count().filter(_is_even).to_stream().to("out")


@topology("session-window-filtered-count")
def session_filtered_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, session_windows(**windows)).count().filter(_is_even).to_stream().to("out")


@topology("time-window-table-aggregate")
def time_table_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    """A table aggregation makes the old values that a windowed aggregation forwards visible."""
    grouped = windowed(builder, time_windows(**windows)).count().group_by(by_inner_key)
    grouped.aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


@topology("suppress-time-window-and-aggregate")
def suppress_and_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    final = windowed(builder, time_windows(**windows)).count().suppress(hr.Suppressed.until_window_closes())
    final.group_by(by_inner_key).aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


@topology("suppress-and-join")
def suppress_and_join(builder: hr.StreamsBuilder, *, limit: int) -> None:
    """A join with a suppressed table."""
    left: Any = builder.table("left")
    held = left.suppress(hr.Suppressed.until_time_limit(ms(limit), buffer=hr.BufferConfig.unbounded()))
    held.outer_join(builder.table("right"), f.joined).to_stream().to("out")


def _is_even(window: Any, count: int) -> bool:  # noqa: ARG001
    return count % 2 == 0


def by_inner_key(window: Any, count: int) -> tuple[str, str]:
    return window.key, f"{window.window.start_ms}={count}"
