"""The backend for topics on Kafka."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from headrace._core.errors.handlers import stopping
from headrace._core.metrics import Metrics
from headrace._runtime.spark.planning.admission import admitted, by_time_index
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages.frames import Frame, topic_of
from headrace._runtime.spark.state_directory.dynamic_topics import DynamicTopics
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.topics.backend import SinkTask, refuse_changed_outputs, refuse_missing_records
from headrace._runtime.spark.topics.kafka_output import TaskOutput
from headrace._state.log.entries import ApplicationState
from headrace._state.log.state_log import LogView
from headrace.errors import NewPartitionsError, StateError
from headrace.model.offset_reset import AutoOffsetReset
from headrace.topics.embedded.log import SegmentRun
from headrace.topics.kafka.cluster import KafkaCluster, Place
from headrace.topics.kafka.commits import NOTES_SUFFIX, Commits
from headrace.topics.kafka.groups import ConsumerGroup
from headrace.topics.kafka.send import write_at_least_once
from headrace.topics.kafka.tail import Tail

_ROOM_FOR_HEADERS = 1 << 20
_REFRESH = "topic.metadata.refresh.interval.ms"
_LOOK_AGAIN_AFTER_MS = 30_000
_RULES_ARE_KNOWN_FOR_S = 30.0
_PUBLISH_EVERY_S = 1.0


class KafkaBackend:
    """The topics of a Kafka cluster. Retention deletes the first records of partitions, and offsets have gaps."""

    has_fixed_slices = True

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._looked_s = float("-inf")
        self._published_s = float("-inf")
        self._tail = Tail(cluster)
        self._opened: dict[str, int] = {}
        # How often the client itself would refresh its metadata, if the user has set it.
        self._look_again_after_s = float(cluster.settings.get(_REFRESH, _LOOK_AGAIN_AFTER_MS)) / 1000

    def topics(self) -> Mapping[str, int]:
        """All topics but Kafka's own and those with notes of applications: no pattern should match one of these."""
        return {name: number for name, number in self._cluster.topics().items() if not name.endswith(NOTES_SUFFIX)}

    def reset_offsets(self, places: Sequence[Place], reset: AutoOffsetReset, now_ms: int) -> list[int]:
        if reset.strategy not in ("latest", "by_duration"):
            return self._cluster.begin_offsets(places)
        ends = self._cluster.end_offsets(places)
        if reset.strategy == "latest":
            return ends
        found = self._cluster.offsets_at(places, max(0, now_ms - reset.duration_ms))
        return [end if offset < 0 else offset for offset, end in zip(found, ends, strict=True)]

    def prepare(self, plan: Plan, state: ApplicationState) -> None:  # noqa: ARG002
        """Creates missing output topics, and fences earlier starts.

        The dead letter topic is created for records as large as the input topics accept, plus room for headers.
        """
        known = self._cluster.topics()
        refuse_changed_outputs(plan, known)
        missing = {topic: plan.partitions[topic] for topic in plan.sink_topics if topic not in known}
        letters = plan.error_handlers.dead_letter_topic
        if letters in missing:
            taken = [rule.max_bytes for rule in self._cluster.rules(plan.source_topics).values() if rule.max_bytes]
            settings = {"max.message.bytes": str(max(taken) + _ROOM_FOR_HEADERS)} if taken else {}
            self._cluster.create({letters: missing.pop(letters)}, settings)
        self._cluster.create(missing)
        if plan.exactly_once:
            self._commits(plan).take_over(plan.spark_partitions)

    def settle(self, plan: Plan) -> None:
        view = current_view(plan)
        self._publish_offsets(plan, view.state)
        if plan.exactly_once:
            self._commits(plan).await_visible()

    def traces(self, application_id: str, instance: str | None) -> Sequence[str]:
        at = f"at {self._cluster.bootstrap_servers}"
        commits = _noted(self._cluster, application_id, instance)
        found = [] if commits is None else [f"notes of written batches in topic {commits.topic!r} {at}"]
        if ConsumerGroup(self._cluster, application_id).exists():
            found.append(f"offsets of consumer group {application_id!r} {at}")
        return found

    def forget(self, application_id: str, instance: str | None) -> None:
        commits = _noted(self._cluster, application_id, instance)
        if commits is not None:
            commits.delete_notes()
        group = ConsumerGroup(self._cluster, application_id)
        if group.exists():
            group.delete()

    def delete_unpublished(self, application_id: str, instance: str) -> None:
        """Does nothing: the broker aborts unfinished transactions."""

    def ends(self, places: Sequence[Place]) -> list[int]:
        if self._tail.is_waiting:
            with self._cluster.translate_errors("read new records"):
                if self._tail.poll(0.0):
                    return self._tail.end_offsets(places)
            self._tail.pause()
        return self._cluster.end_offsets(places)

    def admitted(
        self,
        plan: Plan,
        starts: Sequence[int],
        ends: Sequence[int],
        limit: int,
        now_ms: int | None,  # noqa: ARG002
    ) -> list[int]:
        if any(end < start for start, end in zip(starts, ends, strict=True)):
            # Asks the broker: ends from the tail, or from the beginning of a catch-up run, may be out of date.
            ends_now = self._cluster.end_offsets(plan.places)
            refuse_missing_records(plan, starts, ends_now, "Was the topic deleted and created again? Start over")
            self._tail.pause()  # it is behind what was read, and stays there until it moves
        take = by_time_index(lambda time_ms: self._cluster.offsets_at(plan.places, time_ms))
        return admitted(plan.places, starts, ends, limit, take, plan.global_topics)

    def locate(self, place: Place, first: int, last: int) -> None:  # noqa: ARG002
        return None

    def read(self, place: Place, first: int, last: int, located: None) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        held = self._tail.take(place, first, last) if self._tail.is_waiting else None
        return self._cluster.read(*place, first, last) if held is None else iter(held)

    def newest(self, places: Sequence[Place], limit: int) -> Iterator[tuple[Place, pa.RecordBatch]]:
        begins, ends = self._cluster.begin_offsets(places), self._cluster.end_offsets(places)
        for place, begin, end in zip(places, begins, ends, strict=True):
            if begin < end:
                for batch in self._cluster.read(*place, max(begin, end - limit), end):
                    yield place, batch

    def open_topic(self, plan: Plan, topic: str, partitions: int | None) -> int | None:
        """With exactly-once, also saves the name of the topic: a later start must wait for open transactions in it."""
        if topic in self._opened:
            return self._opened[topic]
        existing = self._cluster.topics().get(topic)
        if existing is None and partitions is not None:
            self._cluster.create({topic: partitions})
            existing = self._cluster.partitions(topic)
        if existing is not None and plan.exactly_once:
            DynamicTopics(plan.state_dir).add(topic)
        if existing is not None:
            self._opened[topic] = existing
        return existing

    def await_records(self, plan: Plan, starts: Sequence[int], within_s: float) -> None:
        if not plan.places:
            time.sleep(within_s)  # no topic matches the pattern yet
            return
        positions = dict(zip(plan.places, starts, strict=True))
        with self._cluster.translate_errors("read new records"):
            if not self._tail.is_at(positions):
                self._tail.move(positions)
            if not self._tail.poll(within_s):
                self._tail.pause()

    def write(
        self, plan: Plan, outputs: list[Frame], metrics: Metrics, task: SinkTask
    ) -> tuple[list[SegmentRun], dict[str, str]]:
        letters = plan.error_handlers.dead_letter_topic
        topics = {topic_of(frame, plan.topics) for frame in outputs} | ({letters} if letters else set())
        rules = self._cluster.rules(topics, max_age_s=_RULES_ARE_KNOWN_FOR_S)
        output = TaskOutput(plan, self._cluster, outputs, rules)
        with stopping():
            sessions = self._write(plan, output, task)
        metrics.merge(output.metrics)
        return [], sessions

    def _write(self, plan: Plan, output: TaskOutput, task: SinkTask) -> dict[str, str]:
        rules = output.rules.values()
        if not plan.exactly_once:
            write_at_least_once(self._cluster, output.records(), rules)
            return {}
        view = current_view(plan)
        batch = view.unfinished
        if batch is None or not task.works_on(batch):
            raise state_log(plan).superseded(plan.epoch, plan.instance)
        name = str(task.number)
        written, session = self._commits(plan).write(
            task.number,
            batch.batch,
            output.records,
            rules,
            last_session=view.state.sessions.get(name),
            repeated=task.repeated,
        )
        if not written:
            # An earlier attempt has written the output, but crashed before it reported the records that Kafka refuses.
            # Going through the output again counts them in the metrics.
            for _ in output.records():
                pass
        return {name: session}

    def output(self, runs: list[SegmentRun]) -> None:  # noqa: ARG002
        return None

    def sync(self) -> None:
        """Does nothing: the broker decides when a record counts as written."""

    def publish(self, plan: Plan, state: ApplicationState) -> None:
        """Publishes the offsets of the consumer group now and then, for tools that show its lag."""
        now_s = time.monotonic()
        if state.offsets and now_s >= self._published_s + _PUBLISH_EVERY_S:
            self._published_s = now_s
            ConsumerGroup(self._cluster, plan.application_id).commit_soon(_by_place(state.offsets))

    def refuse_other_age(self, plan: Plan, view: LogView) -> None:
        """Raises a `StateError` if Kafka has notes of a batch after the last committed or unfinished one."""
        written = self._commits(plan).last_batch() if plan.exactly_once else None
        most = view.state.batch + (view.unfinished is not None)
        if written is not None and written > most:
            message = (
                f"The state of application {plan.application_id!r} in {plan.state_dir!r} has batches up to "
                f"{view.state.batch}, but the application has written batch {written} to Kafka at "
                f"{self._cluster.bootstrap_servers}. Was the state directory restored from an older copy? Restore the "
                "newest one, or start over: use another application_id and state_dir, or run `headrace reset`."
            )
            raise StateError(message)

    def _publish_offsets(self, plan: Plan, state: ApplicationState) -> None:
        if state.offsets:
            ConsumerGroup(self._cluster, plan.application_id).commit(_by_place(state.offsets))

    def _commits(self, plan: Plan) -> Commits:
        return Commits(
            self._cluster, plan.application_id, plan.instance, plan.epoch, lambda: self._written_topics(plan)
        )

    def _written_topics(self, plan: Plan) -> dict[str, int]:
        """The topics that this start or an earlier one may have written to, with their numbers of partitions."""
        named = {topic: plan.partitions[topic] for topic in plan.sink_topics}
        chosen = DynamicTopics(plan.state_dir).names() - named.keys()
        return named | {topic: count for topic, count in self._cluster.topics().items() if topic in chosen}

    def refuse_changed_topics(self, plan: Plan) -> None:
        if time.monotonic() < self._looked_s + self._look_again_after_s:
            return
        known = self.topics()
        plan.refuse_other_topics(known)
        for topic in plan.source_topics:
            expected = plan.partitions[topic]
            if known.get(topic) != expected:
                found = f"has {known[topic]} partitions" if topic in known else "does not exist any more"
                message = f"Topic {topic!r} {found}; it had {expected} partitions when the query started."
                raise NewPartitionsError(message)
        self._looked_s = time.monotonic()


def _noted(cluster: KafkaCluster, application_id: str, instance: str | None) -> Commits | None:
    """The `Commits` of an instance; `None` if there are no notes of it."""
    if instance is None:
        return None
    commits = Commits(cluster, application_id, instance, start=0)
    return commits if commits.has_notes() else None


def _by_place(offsets: Mapping[str, int]) -> dict[Place, int]:
    named = ((key.rpartition("-"), offset) for key, offset in offsets.items())
    return {(topic, int(partition)): offset for (topic, _, partition), offset in named}
