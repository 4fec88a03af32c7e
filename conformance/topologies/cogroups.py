"""Several grouped streams folded into one aggregate."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import topology
from conformance.topologies.windows import session_windows, sliding_windows, time_windows


@topology("cogroup")
def cogroup(builder: hr.StreamsBuilder) -> None:
    _two(builder).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-three")
def cogroup_three(builder: hr.StreamsBuilder) -> None:
    three = _two(builder).cogroup(builder.stream("third").group_by_key(), f.concat_or_delete)
    three.aggregate(f.empty).to_stream().to("out")


@topology("cogroup-by-head")
def cogroup_by_head(builder: hr.StreamsBuilder) -> None:
    by_head: Any = builder.stream("in").group_by(lambda _, value: f.head(value))
    both = by_head.cogroup(f.concat).cogroup(builder.stream("other").group_by_key(), _starred)
    both.aggregate(f.empty).to_stream().to("out")


@topology("cogroup-time-window")
def cogroup_time_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    _two(builder).windowed_by(time_windows(**windows)).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-sliding-window")
def cogroup_sliding_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    _two(builder).windowed_by(sliding_windows(**windows)).aggregate(f.empty).to_stream().to("out")


@topology("cogroup-session-window")
def cogroup_session_window(builder: hr.StreamsBuilder, **windows: int) -> None:
    _two(builder).windowed_by(session_windows(**windows)).aggregate(f.empty, f.merged).to_stream().to("out")


def _two(builder: hr.StreamsBuilder) -> Any:
    grouped: Any = builder.stream("in").group_by_key()
    return grouped.cogroup(f.concat).cogroup(builder.stream("other").group_by_key(), _starred)


def _starred(key: str, value: str | None, aggregate: str) -> str:  # noqa: ARG001
    return f"{aggregate}*{f.show(value)}"
