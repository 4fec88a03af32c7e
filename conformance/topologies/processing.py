"""The processor API: forwarding, stores, time."""

from __future__ import annotations

from functools import partial

import headrace as hr
from conformance import processors as p
from conformance.registry import ms, topology
from conformance.topologies.windows import time_windows


@topology("process-forward")
def forward(builder: hr.StreamsBuilder) -> hr.Topology:  # noqa: ARG001
    built = hr.Topology()
    built.add_source("source", "in")
    built.add_processor("obedient", p.Obedient, parents=["source"])
    for sink in ("first", "second"):
        built.add_sink(sink, sink, parents=["obedient"])
    return built


@topology("process-shared-store")
def shared_store(builder: hr.StreamsBuilder) -> hr.Topology:  # noqa: ARG001
    """Two processors share a store: records of "in" write to it, records of "other" read it."""
    built = hr.Topology()
    built.add_source("writes", "in")
    built.add_source("reads", "other")
    built.add_processor("writer", p.Writer, parents=["writes"])
    built.add_processor("reader", p.Reader, parents=["reads"])
    built.add_state_store(p.texts("shared"), processors=["writer", "reader"])
    built.add_sink("sink", "out", parents=["reader"])
    return built


@topology("process-store")
def store(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").process(p.Remembering, stores=[p.texts("last")]).to("out")


@topology("process-range")
def store_range(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").process(p.Listing, stores=[p.texts("rows")]).to("out")


@topology("process-and-count")
def rekey_and_count(builder: hr.StreamsBuilder) -> None:
    """A processor may change the key, so the count after it is repartitioned."""
    builder.stream("in").process(p.Rekeying).group_by_key().count().to_stream().to("out")


@topology("process-timestamps-and-count")
def timestamps_and_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    """Forwards the value as the timestamp: it advances the stream time of the windows after it, not the task's."""
    timed = builder.stream("in").process(p.Timing).group_by_key()
    timed.windowed_by(time_windows(**windows)).count().to_stream().to("out")


@topology("process-metadata")
def metadata(builder: hr.StreamsBuilder) -> None:
    builder.stream(["in", "other"]).process(p.Timing100).process(p.Describing).to("out")


@topology("process-headers")
def headers(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").process(p.Heading).to("out")


@topology("process-values")
def values(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").process_values(p.Doubling, stores=[p.texts("before")]).to("out")


@topology("process-values-and-count")
def values_and_count(builder: hr.StreamsBuilder) -> None:
    """`process_values` cannot change the key, so there is no repartition."""
    builder.stream("in").process_values(p.Doubled).group_by_key().count().to_stream().to("out")


@topology("punctuate-stream-time")
def stream_time(builder: hr.StreamsBuilder, *, interval: int) -> None:
    """Kafka fires on a grid from 0, Headrace on one from the first record: an intended difference."""
    ticking = partial(p.Ticking, ms(interval), hr.PunctuationType.STREAM_TIME)
    builder.stream("in").process(ticking).to("out")


@topology("punctuate-wall-clock")
def wall_clock(builder: hr.StreamsBuilder, *, interval: int) -> None:
    ticking = partial(p.Ticking, ms(interval), hr.PunctuationType.WALL_CLOCK_TIME)
    builder.stream("in").process(ticking).to("out")


@topology("punctuate-anchored-stream-time")
def anchored_stream_time(builder: hr.StreamsBuilder, *, interval: int, start: int) -> None:
    """A grid with a fixed start: Kafka's anchored schedule, our time shift."""
    ticking = partial(p.Ticking, ms(interval), hr.PunctuationType.STREAM_TIME, ms(start))
    builder.stream("in").process(ticking).to("out")


@topology("punctuate-anchored-wall-clock")
def anchored_wall_clock(builder: hr.StreamsBuilder, *, interval: int, start: int) -> None:
    ticking = partial(p.Ticking, ms(interval), hr.PunctuationType.WALL_CLOCK_TIME, ms(start))
    builder.stream("in").process(ticking).to("out")


@topology("punctuate-cancel")
def cancel(builder: hr.StreamsBuilder, *, interval: int, times: int) -> None:
    builder.stream("in").process(partial(p.Cancelling, ms(interval), times)).to("out")


@topology("punctuate-flush")
def flush(builder: hr.StreamsBuilder, *, interval: int) -> None:
    builder.stream("in").process(partial(p.Flushing, ms(interval)), stores=[p.texts("held")]).to("out")
