"""Windowed aggregations: every update, or final results when a window closes."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology


def initial() -> str:
    return "i"


def time_windows(*, size: int, advance: int | None = None, grace: int = 0) -> Any:
    return hr.TimeWindows.of(ms(size), advance=None if advance is None else ms(advance), grace=ms(grace))


def sliding_windows(*, difference: int, grace: int = 0) -> Any:
    return hr.SlidingWindows.of(ms(difference), grace=ms(grace))


def session_windows(*, gap: int, grace: int = 0) -> Any:
    return hr.SessionWindows.of(ms(gap), grace=ms(grace))


def windowed(builder: hr.StreamsBuilder, windows: Any) -> Any:
    return builder.stream("in").group_by_key().windowed_by(windows)


def closing(builder: hr.StreamsBuilder, windows: Any) -> Any:
    return windowed(builder, windows).emit_strategy(hr.EmitStrategy.on_window_close())


@topology("time-window-count")
def time_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, time_windows(**windows)).count().to_stream().to("out")


@topology("time-window-count-to-stream-with-key")
def time_count_with_key(builder: hr.StreamsBuilder, **windows: int) -> None:
    counts: Any = windowed(builder, time_windows(**windows)).count()
    counts.to_stream(lambda windowed_key, _: f"{windowed_key.key}@{windowed_key.window.start_ms}").to("out")


@topology("time-window-reduce")
def time_reduce(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, time_windows(**windows)).reduce(f.appended).to_stream().to("out")


@topology("time-window-aggregate")
def time_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, time_windows(**windows)).aggregate(f.empty, f.concat).to_stream().to("out")


@topology("time-window-aggregate-delete")
def time_aggregate_delete(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, time_windows(**windows)).aggregate(f.empty, f.concat_or_delete).to_stream().to("out")


@topology("time-window-count-by-head")
def time_count_by_head(builder: hr.StreamsBuilder, **windows: int) -> None:
    by_head: Any = builder.stream("in").group_by(lambda _, value: f.head(value))
    by_head.windowed_by(time_windows(**windows)).count().to_stream().to("out")


@topology("time-window-count-totals")
def time_count_totals(builder: hr.StreamsBuilder, **windows: int) -> None:
    """Counts per window, then the counts of all windows of a key one after another."""
    counts = windowed(builder, time_windows(**windows)).count().to_stream()
    by_key = counts.map(lambda window, count: (window.key, f"{window.window.start_ms}={count};")).group_by_key()
    by_key.aggregate(f.empty, f.concat).to_stream().to("out")


@topology("time-window-final-count")
def time_final_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    closing(builder, time_windows(**windows)).count(store="counts").to_stream().to("out")


@topology("time-window-final-aggregate")
def time_final_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    closing(builder, time_windows(**windows)).aggregate(f.empty, f.concat).to_stream().to("out")


@topology("sliding-window-count")
def sliding_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, sliding_windows(**windows)).count().to_stream().to("out")


@topology("sliding-window-reduce")
def sliding_reduce(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, sliding_windows(**windows)).reduce(f.appended).to_stream().to("out")


@topology("sliding-window-aggregate")
def sliding_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, sliding_windows(**windows)).aggregate(f.empty, f.concat).to_stream().to("out")


@topology("sliding-window-final-count")
def sliding_final_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    closing(builder, sliding_windows(**windows)).count().to_stream().to("out")


@topology("sliding-window-final-aggregate")
def sliding_final_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    closing(builder, sliding_windows(**windows)).aggregate(f.empty, f.concat).to_stream().to("out")


@topology("session-window-count")
def session_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, session_windows(**windows)).count().to_stream().to("out")


@topology("session-window-reduce")
def session_reduce(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, session_windows(**windows)).reduce(f.appended).to_stream().to("out")


@topology("session-window-aggregate")
def session_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, session_windows(**windows)).aggregate(initial, f.concat, f.merged).to_stream().to("out")


@topology("session-window-final-count")
def session_final_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    closing(builder, session_windows(**windows)).count().to_stream().to("out")


@topology("session-window-final-aggregate")
def session_final_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    closed = closing(builder, session_windows(**windows)).aggregate(initial, f.concat, f.merged, store="texts")
    closed.to_stream().to("out")


@topology("unlimited-window-count")
def unlimited_count(builder: hr.StreamsBuilder, *, start: int) -> None:
    windowed(builder, hr.UnlimitedWindows.starting_at(start)).count().to_stream().to("out")


@topology("unlimited-window-aggregate")
def unlimited_aggregate(builder: hr.StreamsBuilder, *, start: int) -> None:
    windowed(builder, hr.UnlimitedWindows.starting_at(start)).aggregate(f.empty, f.concat).to_stream().to("out")
