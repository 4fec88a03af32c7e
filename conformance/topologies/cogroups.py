"""Several grouped streams folded into one aggregate."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import topology
from conformance.topologies.windows import session_windows, sliding_windows, time_windows


@topology("cogroup")
def cogroup(builder: hr.StreamsBuilder) -> None:
    two(builder).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-three")
def cogroup_three(builder: hr.StreamsBuilder) -> None:
    _three(builder).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-and-aggregate")
def cogroup_and_aggregate(builder: hr.StreamsBuilder) -> None:
    """An aggregation after a cogroup makes the old values that the cogroup forwards visible."""
    grouped = _three(builder).aggregate(f.empty).group_by(lambda _, value: (_last(value), value))
    grouped.aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


@topology("cogroup-by-head")
def cogroup_by_head(builder: hr.StreamsBuilder) -> None:
    by_head: Any = builder.stream("in").group_by(lambda _, value: f.head(value))
    both = by_head.cogroup(f.concat).cogroup(builder.stream("other").group_by_key(), _starred)
    both.aggregate(f.empty).to_stream().to("out")


@topology("cogroup-by-two-heads")
def cogroup_by_two_heads(builder: hr.StreamsBuilder) -> None:
    both = _by_head(builder, "in").cogroup(f.concat).cogroup(_by_head(builder, "other"), _starred)
    both.aggregate(f.empty).to_stream().to("out")


@topology("cogroup-of-one-stream")
def cogroup_of_one_stream(builder: hr.StreamsBuilder) -> None:
    """Cogroups a stream by its own key with the same stream by another key."""
    stream: Any = builder.stream("in")
    by_head = stream.group_by(lambda _, value: f.head(value))
    stream.group_by_key().cogroup(f.concat).cogroup(by_head, _starred).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-of-texts")
def cogroup_of_texts(builder: hr.StreamsBuilder) -> None:
    """Cogroups the texts of a stream with the stream by another key: a late record's text is later than the record."""
    stream: Any = builder.stream("in")
    texts = stream.group_by_key().aggregate(f.empty, f.concat).to_stream().group_by_key()
    by_head = stream.group_by(lambda _, value: f.head(value))
    texts.cogroup(f.concat).cogroup(by_head, _starred).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-time-window")
def cogroup_time_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    two(builder).windowed_by(time_windows(**windows)).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-sliding-window")
def cogroup_sliding_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    two(builder).windowed_by(sliding_windows(**windows)).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-session-window")
def cogroup_session_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    two(builder).windowed_by(session_windows(**windows)).aggregate(f.empty, f.merged).to_stream().to("out")


@topology("suppress-cogroup-time-window")
def suppress_cogroup_time_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    texts = two(builder).windowed_by(time_windows(**windows)).aggregate(f.empty)
    texts.suppress(hr.Suppressed.until_window_closes()).to_stream().to("out")


def _by_head(builder: hr.StreamsBuilder, topic: str) -> Any:
    return builder.stream(topic).group_by(lambda _, value: f.head(value), name=f"{topic}-by-head")


def _three(builder: hr.StreamsBuilder) -> Any:
    return two(builder).cogroup(builder.stream("third").group_by_key(), f.concat_or_delete)


def two(builder: hr.StreamsBuilder) -> Any:
    grouped: Any = builder.stream("in").group_by_key()
    return grouped.cogroup(f.concat).cogroup(builder.stream("other").group_by_key(), _starred)


def _last(value: str) -> str | None:
    return value[-1:] or None


def _starred(key: str, value: str | None, aggregate: str) -> str:  # noqa: ARG001
    return f"{aggregate}*{f.show(value)}"
