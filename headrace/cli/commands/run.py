"""`headrace run`: runs an application on local Spark and shows its progress, until it is stopped or has caught up."""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import Any, Self

from headrace._graph.configured import configured
from headrace._graph.partitions import partition_counts
from headrace._graph.patterns import with_matching_topics
from headrace._runtime.spark.topics.backend import backend_of
from headrace.cli.loading import LoadedApplication
from headrace.cli.output.background import Background
from headrace.cli.output.console import console, pluralize
from headrace.cli.output.display import Show, progress
from headrace.cli.output.progress import Meter, Totals
from headrace.config import StreamsConfig
from headrace.streams import Streams

_TICK_S = 0.1


def run(loaded: LoadedApplication, config: StreamsConfig, *, until_caught_up: bool) -> None:
    """Runs an application until it has caught up, or until Ctrl-C or SIGTERM, which let the current batch finish."""
    graph = loaded.topology._graph
    # Reports errors of the topics before Spark starts, which takes seconds.
    topics = backend_of(config).topics()
    partition_counts(with_matching_topics(configured(graph, config), topics), topics)
    streams = create_streams(loaded, config)
    meter = Meter(graph, config)
    before, started_s = meter.read(), time.monotonic()
    try:
        with StopRequest() as stop, progress(config.application_id) as show:
            runner = _Runner(streams, config, meter, until_caught_up=until_caught_up)
            runner.follow(stop, show, before)
            started_s = runner.started_s or started_s
            took_s = time.monotonic() - started_s
    finally:
        streams.stop()
    console().print(_summary(config, meter.read().since(before), took_s, stopped=bool(stop.times)))


def create_streams(loaded: LoadedApplication, config: StreamsConfig, spark: Any = None) -> Streams:
    """Creates the `Streams` object for an application, on a new Spark session unless one is passed.

    Spark's workers get the modules beside the file, so that they can import the application's functions.
    """
    from headrace._runtime.spark.workers.modules import send_with_plan

    send_with_plan(loaded.path.absolute().parent)
    return Streams(loaded.topology, config, spark)


class StopRequest:
    """Counts Ctrl-C and SIGTERM instead of letting them end the process."""

    def __init__(self) -> None:
        self.times = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._count)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _count(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.times += 1


class _Runner:
    """Runs the application in a background thread, and follows its progress."""

    def __init__(self, streams: Streams, config: StreamsConfig, meter: Meter, *, until_caught_up: bool) -> None:
        self._streams = streams
        self._name = config.application_id
        self._meter = meter
        self._until_caught_up = until_caught_up
        self._session: Any = None
        self.started_s: float | None = None

    def follow(self, stop: StopRequest, show: Show, before: Totals) -> None:
        work = Background(self._work)
        while not work.wait(_TICK_S):
            if stop.times and self._session is None:
                return
            if stop.times:
                self._stop(at_once=stop.times > 1)
            show(self._activity(stop), self._meter.read().since(before))
        work.result()

    def _work(self) -> None:
        self._session = self._streams._application.spark
        self.started_s = time.monotonic()
        if self._until_caught_up:
            self._streams.process_available()
        else:
            self._streams.start()
            self._streams.await_termination()

    def _activity(self, stop: StopRequest) -> str:
        if stop.times:
            return "stopping after this batch, press Ctrl-C again to stop now"
        if self._session is None:
            return "starting Spark"
        return "catching up" if self._until_caught_up else "running, press Ctrl-C to stop"

    def _stop(self, *, at_once: bool) -> None:
        """Stops the query: at once, or after the current batch. No further batch begins."""
        self._streams._application.finish()
        for query in self._session.streams.active:
            if query.name == self._name and (at_once or self._is_idle(query)):
                query.stop()

    def _is_idle(self, query: Any) -> bool:
        """Whether the query neither plans nor runs a batch."""
        return not query.status["isTriggerActive"]


def _summary(config: StreamsConfig, done: Totals, took_s: float, *, stopped: bool) -> str:
    head = f"{config.application_id} {'stopped' if stopped else 'caught up'}"
    waiting = f"; {done.waiting:,} remain for the next run" if done.waiting else ""
    if not done.batches:
        return f"{head}: no new records{waiting}."
    speed = done.records_in / max(took_s, 0.001)
    rate = f" ({speed:,.0f} records/s)" if speed >= 1 else ""
    dead = (
        f", {pluralize(done.dead_letters, 'dead letter')} in {config.dead_letter_topic!r}" if done.dead_letters else ""
    )
    figures = f"{pluralize(done.records_in, 'record')} in, {done.records_out:,} out{dead}"
    return f"{head}: {figures}, {pluralize(done.batches, 'batch', 'batches')} in {took_s:.1f} s{rate}{waiting}."
