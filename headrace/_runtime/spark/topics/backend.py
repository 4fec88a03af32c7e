"""The interface to the topics of an application, which are on Kafka or embedded in a directory."""

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
from headrace.errors import TopicError
from headrace.model.offset_reset import AutoOffsetReset
from headrace.topics.embedded.log import SegmentRun
from headrace.topics.kafka.cluster import KafkaCluster, Place


class SinkTask(NamedTuple):
    """The number of a sink task, and the batch whose output it writes.

    A task that runs a whole batch knows the number of the batch, `batch`. A task of a spread batch knows only the
    `step`: Spark's count of the micro-batches of the query. `repeated` says that Spark has attempted the task before.
    """

    number: int
    batch: int | None = None
    step: int | None = None
    repeated: bool = False

    def works_on(self, batch: BatchPlan | None) -> bool:
        """Whether the output that this sink task receives is that of `batch`."""
        return batch is not None and (batch.step == self.step if self.batch is None else batch.batch == self.batch)


class TopicBackend(Protocol):
    """The topics of an application, as the planner of batches and the workers use them.

    Sequences of offsets are in the order of the topic-partitions: of the parameter `places`, or of `plan.places`.

    Attributes:
        has_fixed_slices: whether a repeated batch must have the same records in the same Spark partitions, because each
            of them commits its output by itself.
    """

    has_fixed_slices: bool

    def topics(self) -> Mapping[str, int]:
        """The number of partitions of every topic."""

    def reset_offsets(self, places: Sequence[Place], reset: AutoOffsetReset, now_ms: int) -> list[int]:
        """The first offset to read in each topic-partition, by an offset reset. A duration counts back from `now_ms`.

        For "none", which the caller must refuse itself, the result is that of "earliest".
        """

    def refuse_changed_topics(self, plan: Plan) -> None:
        """Raises a `NewPartitionsError` if topics or partitions that the application should read have changed.

        Looking is expensive on Kafka, so it looks there only every 30 seconds, or as often as the Kafka setting
        `topic.metadata.refresh.interval.ms` says.
        """

    def prepare(self, plan: Plan, state: ApplicationState) -> None:
        """Prepares the topics for a query, and prevents earlier starts from writing any more."""

    def settle(self, plan: Plan) -> None:
        """Waits until the output of a finished query is visible to all readers."""

    def traces(self, application_id: str, instance: str | None) -> Sequence[str]:
        """Descriptions of what an application has stored here besides the user's topics.

        `instance` is `None` if the application has no state.
        """

    def forget(self, application_id: str, instance: str | None) -> None:
        """Deletes what an application has stored here besides the user's topics, as listed by `traces`."""

    def delete_unpublished(self, application_id: str, instance: str) -> None:
        """Deletes the output that an application has written here but not published.

        Call it when the state log is deleted: before, a start may have to publish that output.
        """

    def ends(self, places: Sequence[Place]) -> list[int]:
        """The current end offsets, each one after the last record that can be read, in the order of `places`."""

    def admitted(
        self, plan: Plan, starts: Sequence[int], ends: Sequence[int], limit: int, now_ms: int | None
    ) -> list[int]:
        """The end offsets of the next batch, which reads at most `limit` records between `starts` and `ends`.

        An end before its start means that there are no new records there.

        `now_ms` is the wall-clock time of the batch, `None` if the plan needs no clock. It decides which timestamps are
        too far ahead to be accepted.
        """

    def locate(self, place: Place, first: int, last: int) -> Any:
        """Where the records at offsets `first` to `last`, exclusive, are stored; the reading worker gets the result."""

    def read(self, place: Place, first: int, last: int, located: Any) -> Iterator[pa.RecordBatch]:
        """Reads the records at offsets `first` to `last`, exclusive; `located` is what `locate` returned for them.

        If the offsets have gaps, the batches have a column `offset`.
        """

    def newest(self, places: Sequence[Place], limit: int) -> Iterator[tuple[Place, pa.RecordBatch]]:
        """Reads the newest records of topic-partitions, at most `limit` of each."""

    def open_topic(self, plan: Plan, topic: str, partitions: int | None) -> int | None:
        """The number of partitions of an output topic that a function chose. The worker that writes to it calls this.

        A missing topic is created with that many `partitions`. If `partitions` is `None`, it is not created, and the
        result is `None`.
        """

    def await_records(self, plan: Plan, starts: Sequence[int], within_s: float) -> None:
        """Waits for at most `within_s` seconds until there may be records at the offsets `starts`."""

    def write(
        self, plan: Plan, outputs: list[Frame], metrics: Metrics, task: SinkTask
    ) -> tuple[list[SegmentRun], dict[str, str]]:
        """Writes the output of one sink task, on a worker.

        Returns the segment runs that it wrote, for `output`; none on Kafka. Also returns the name of the Kafka session
        that wrote, by the number of the sink task; none for embedded topics.
        """

    def output(self, runs: list[SegmentRun]) -> Any:
        """Converts what all sink tasks of a batch wrote to data that can be saved in the commit of the batch.

        `runs` say which records the sink tasks wrote to which data files of embedded topics, as `write` returned them.
        The records are invisible until `publish` is called with the state after the commit. So if the application
        crashes after the commit, the next start can publish them. On Kafka there are no data files, and the result is
        `None`.
        """

    def sync(self) -> None:
        """Makes sure that a power loss removes neither the records that were read nor the output published so far.

        It is called before each entry of the state log that contains offsets, because such an entry cannot be undone.
        The writers of the records may have died before they synced them.
        """

    def publish(self, plan: Plan, state: ApplicationState) -> None:
        """Makes the output of the last commit visible, which is `state.output`, unless it is visible already.

        It is called after each commit, and again later in case the process crashed in between. On Kafka, where
        records become visible in other ways, it only publishes offsets, for tools that show consumer lag.
        """

    def refuse_other_age(self, plan: Plan, view: LogView) -> None:
        """Refuses topics and state that do not fit, because one of them was restored from a copy or replaced.

        Raises:
            StateError: if one of them has batches that the other should have, too.
            TopicError: if an embedded topic ends before the offset at which the application continues.
        """


def refuse_changed_outputs(plan: Plan, topics: Mapping[str, int]) -> None:
    """Raises a `TopicError` if an output topic has another number of partitions now than when the plan was made.

    Args:
        plan: the plan; an output topic that did not exist is in it with the number of partitions to create.
        topics: the current number of partitions of every topic.
    """
    for topic in plan.sink_topics:
        expected = plan.partitions[topic]
        if topics.get(topic, expected) != expected:
            message = (
                f"Output topic {topic!r} has {topics[topic]} partitions, but application {plan.application_id!r} "
                f"expected {expected}: somebody created or changed it during the start. Start the application again, "
                "then it uses the topic as it is."
            )
            raise TopicError(message)


def refuse_missing_records(plan: Plan, starts: Sequence[int], ends: Sequence[int], advice: str) -> None:
    """Raises a `TopicError` if a partition ends before the offset at which the application continues.

    Args:
        plan: its `places` are the partitions, in the order of `starts` and `ends`.
        starts: the offset at which the application continues in each partition.
        ends: the current end offsets.
        advice: the part of the message that says what may have happened and what to do before starting over.
    """
    for (topic, partition), start, end in zip(plan.places, starts, ends, strict=True):
        if end < start:
            message = (
                f"Topic {topic!r}, partition {partition}, ends at offset {end}, but application "
                f"{plan.application_id!r} continues at offset {start}. {advice}: use another application_id and "
                "state_dir, or run `headrace reset`."
            )
            raise TopicError(message)


_backends: dict[tuple[str, int], TopicBackend] = {}


def backend_of(settings: Plan | StreamsConfig) -> TopicBackend:
    """The topics of a plan or a configuration.

    With a plan, requests wait for an unavailable broker; with a configuration they fail within seconds. The backend of
    a plan is cached in this process, because it holds connections and positions in topics.
    """
    if isinstance(settings, StreamsConfig):
        broker = None
        if settings.bootstrap_servers is not None:
            broker = KafkaCluster(settings.bootstrap_servers, settings.kafka)
        return _backend(broker, settings.topics_dir or "")
    start = (settings.instance, settings.epoch)
    if start not in _backends:
        _backends.clear()
        _backends[start] = _backend(settings.broker, settings.topics_dir)
    return _backends[start]


def _backend(broker: KafkaCluster | None, topics_dir: str | Path) -> TopicBackend:
    from headrace._runtime.spark.topics.embedded import EmbeddedBackend
    from headrace._runtime.spark.topics.kafka import KafkaBackend

    return EmbeddedBackend(topics_dir) if broker is None else KafkaBackend(broker)
