"""Where the topics of an application live: in a directory, or on Kafka. Both are asked the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from headrace._core.metrics import Metrics
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages.frames import Frame
from headrace._state.log.entries import ApplicationState, BatchPlan
from headrace._state.log.state_log import LogView
from headrace.config import StreamsConfig
from headrace.topics.embedded.log import Run
from headrace.topics.kafka.cluster import KafkaCluster, Place


class SinkTask(NamedTuple):
    """Who writes a part of a batch: the number of the sink task, and which batch it works on.

    A task of a spread batch knows the `step` of the Spark query, one that runs all of a batch knows the `batch`.
    """

    number: int
    batch: int | None = None
    step: int | None = None

    def works_on(self, plan: BatchPlan | None) -> bool:
        """Whether a planned batch is its own."""
        return plan is not None and (plan.step == self.step if self.batch is None else plan.batch == self.batch)


class TopicBackend(Protocol):
    """The topics as the application, the planner of batches and the workers see them. Offsets go by place.

    Attributes:
        has_fixed_slices: whether a repeated batch must have the same records in the same Spark partitions, because each
            of them writes its part by itself.
    """

    has_fixed_slices: bool

    def topics(self) -> Mapping[str, int]:
        """The number of partitions of every topic."""

    def first_offsets(self, places: Sequence[Place], known: Mapping[str, int]) -> dict[str, int]:
        """Where an application begins to read; `known` is what was said at its earlier starts, and stays."""

    def prepare(self, plan: Plan, state: ApplicationState) -> None:
        """What is to be done between the start of a plan and its query: earlier starts can write no more after it."""

    def settle(self, plan: Plan) -> None:
        """Returns when everybody can see what the query of a plan has written."""

    def traces(self, application_id: str, instance: str | None) -> Sequence[str]:
        """What is kept of an application here besides the user's topics, in words; none has the instance `None`."""

    def forget(self, application_id: str, instance: str | None) -> None:
        """Deletes that."""

    def ends(self, places: Sequence[Place]) -> list[int]:
        """The offsets behind the last records, as of now."""

    def admitted(
        self, plan: Plan, starts: Sequence[int], ends: Sequence[int], limit: int, now_ms: int | None
    ) -> list[int]:
        """The offsets behind the last records of the next batch."""

    def locate(self, place: Place, first: int, last: int) -> Any:
        """What the planner knows of records, and a worker needs to read them."""

    def read(self, place: Place, first: int, last: int, located: Any) -> Iterator[pa.RecordBatch]:
        """Records; with a column of offsets where these have gaps."""

    def await_records(self, plan: Plan, starts: Sequence[int], within_s: float) -> None:
        """Returns when there may be records behind these offsets, or after the time."""

    def write(
        self, plan: Plan, outputs: list[Frame], metrics: Metrics, task: SinkTask
    ) -> tuple[list[Run], dict[str, str]]:
        """On a worker: writes the records that a sink task has of a batch.

        Gives what is still to be published, and the session that has written.
        """

    def output(self, runs: list[Run]) -> Any:
        """What the commit of a batch has to keep until it is published, as plain data."""

    def publish(self, plan: Plan, state: ApplicationState) -> None:
        """Makes the output of the last commit visible, unless it is."""

    def refuse_other_age(self, plan: Plan, view: LogView) -> None:
        """Raises a `StateError` if topics and state directory are not of the same time: one was restored or copied."""


_of_plans: dict[tuple[str, int], TopicBackend] = {}


def backend_of(settings: Plan | StreamsConfig) -> TopicBackend:
    """The topics that a plan or a configuration names.

    A running plan waits for an unavailable broker; whoever has only a configuration fails within seconds. A process
    keeps what it has opened for a plan: connections, and how far topics were read.
    """
    if isinstance(settings, StreamsConfig):
        broker = None
        if settings.bootstrap_servers is not None:
            broker = KafkaCluster(settings.bootstrap_servers, settings.kafka)
        return _backend(broker, settings.topics_dir or "", settings.auto_offset_reset)
    start = (settings.instance, settings.epoch)
    if start not in _of_plans:
        _of_plans.clear()
        _of_plans[start] = _backend(settings.broker, settings.topics_dir, settings.auto_offset_reset)
    return _of_plans[start]


def _backend(broker: KafkaCluster | None, topics_dir: str | Path, auto_offset_reset: str) -> TopicBackend:
    from headrace._runtime.spark.topics.embedded import EmbeddedBackend
    from headrace._runtime.spark.topics.kafka import KafkaBackend

    return EmbeddedBackend(topics_dir) if broker is None else KafkaBackend(broker, auto_offset_reset)
