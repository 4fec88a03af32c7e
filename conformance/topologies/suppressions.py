"""Suppressed tables."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology
from conformance.topologies.windows import session_windows, sliding_windows, time_windows, windowed
from headrace import serdes


@topology("suppress-time-window")
def time_window(builder: hr.StreamsBuilder, *, max_records: int | None = None, **windows: int) -> None:
    counts = windowed(builder, time_windows(**windows)).count()
    counts.suppress(_until_window_closes(max_records)).to_stream().to("out")


@topology("suppress-time-window-aggregate")
def time_window_aggregate(builder: hr.StreamsBuilder, *, max_records: int | None = None, **windows: int) -> None:
    texts = windowed(builder, time_windows(**windows)).aggregate(f.empty, f.concat_or_delete)
    texts.suppress(_until_window_closes(max_records)).to_stream().to("out")


@topology("suppress-sliding-window")
def sliding_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    counts = windowed(builder, sliding_windows(**windows)).count()
    counts.suppress(_until_window_closes(None)).to_stream().to("out")


@topology("suppress-session-window")
def session_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    counts = windowed(builder, session_windows(**windows)).count()
    counts.suppress(_until_window_closes(None)).to_stream().to("out")


@topology("suppress-with-no-bound")
def with_no_bound(builder: hr.StreamsBuilder, **windows: int) -> None:
    counts = windowed(builder, time_windows(**windows)).count()
    buffer = hr.BufferConfig.max_records(1).with_no_bound()
    counts.suppress(hr.Suppressed.until_window_closes(buffer=buffer)).to_stream().to("out")


@topology("suppress-time-limit")
def time_limit(builder: hr.StreamsBuilder, *, limit: int, **buffer: Any) -> None:
    _limited(builder, limit, buffer).to_stream().to("out")


@topology("suppress-time-limit-of-count")
def time_limit_of_count(builder: hr.StreamsBuilder, *, limit: int, **buffer: Any) -> None:
    counts: Any = builder.stream("in").group_by_key().count()
    counts.suppress(_until_time_limit(limit, **buffer)).to_stream().to("out")


@topology("suppress-and-aggregate")
def suppress_and_aggregate(builder: hr.StreamsBuilder, *, limit: int, **buffer: Any) -> None:
    """An aggregation makes the old values that a suppressed table forwards visible."""
    grouped = _limited(builder, limit, buffer).group_by(f.by_group)
    grouped.aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


def _limited(builder: hr.StreamsBuilder, limit: int, buffer: dict[str, Any]) -> Any:
    """Text values have the same size as in Kafka, so that a buffer limited by bytes is full at the same time."""
    table: Any = builder.table("in", value_serde=serdes.String())
    return table.suppress(_until_time_limit(limit, **buffer))


def _until_window_closes(max_records: int | None) -> Any:
    if max_records is None:
        return hr.Suppressed.until_window_closes()
    return hr.Suppressed.until_window_closes(buffer=hr.BufferConfig.max_records(max_records).shut_down_when_full())


def _until_time_limit(
    limit: int, *, max_records: int | None = None, max_bytes: int | None = None, when_full: str = "emit"
) -> Any:
    if max_records is None and max_bytes is None:
        return hr.Suppressed.until_time_limit(ms(limit), buffer=hr.BufferConfig.unbounded())
    full = hr.BufferConfig.max_bytes(max_bytes) if max_records is None else hr.BufferConfig.max_records(max_records)
    buffer = full.emit_early_when_full() if when_full == "emit" else full.shut_down_when_full()
    return hr.Suppressed.until_time_limit(ms(limit), buffer=buffer)
