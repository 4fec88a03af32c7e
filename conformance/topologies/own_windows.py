"""Aggregations in windows of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology
from conformance.topologies.cogroups import two
from conformance.topologies.windows import windowed


@dataclass(frozen=True)
class Shifts(hr.Windows):
    """From `offset` on, windows of `size_ms` and, if it is not 0, of `rest` take turns."""

    size_ms: int
    offset: int
    rest: int
    grace: timedelta

    def windows_for(self, timestamp_ms: int) -> list[hr.Window]:
        if timestamp_ms < self.offset:
            return []
        within = (timestamp_ms - self.offset) % (self.size_ms + self.rest)
        start, end = timestamp_ms - within, timestamp_ms - within + self.size_ms
        return [hr.Window(start, end) if within < self.size_ms else hr.Window(end, end + self.rest)]


def shifts(*, size: int, offset: int, rest: int = 0, grace: int = 0) -> Any:
    return Shifts(size, offset, rest, ms(grace))


@topology("own-window-count")
def own_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, shifts(**windows)).count().to_stream().to("out")


@topology("own-window-reduce")
def own_reduce(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, shifts(**windows)).reduce(f.appended).to_stream().to("out")


@topology("own-window-aggregate")
def own_aggregate(builder: hr.StreamsBuilder, **windows: int) -> None:
    windowed(builder, shifts(**windows)).aggregate(f.empty, f.concat_or_delete).to_stream().to("out")


@topology("suppress-own-window")
def suppress_own(builder: hr.StreamsBuilder, **windows: int) -> None:
    counts = windowed(builder, shifts(**windows)).count()
    counts.suppress(hr.Suppressed.until_window_closes()).to_stream().to("out")


@topology("cogroup-own-window")
def cogroup_own(builder: hr.StreamsBuilder, **windows: int) -> None:
    two(builder).windowed_by(shifts(**windows)).aggregate(f.empty).to_stream().to("out")
