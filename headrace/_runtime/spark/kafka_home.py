"""Topics on Kafka as an application sees them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from headrace._runtime.spark.admission import admitted, by_time_index
from headrace._runtime.spark.plan import Plan
from headrace._runtime.spark.topic_home import offset_key
from headrace.errors import NewPartitionsError, TopicError
from headrace.topics.kafka_cluster import KafkaCluster, Place
from headrace.topics.kafka_commits import Commits
from headrace.topics.kafka_groups import ConsumerGroup

_ROOM_FOR_HEADERS = 1 << 20
_REFRESH = "topic.metadata.refresh.interval.ms"
_LOOK_AGAIN_AFTER_MS = 30_000


class KafkaHome:
    """The topics of a cluster. Partitions begin where retention lets them, and offsets have gaps."""

    def __init__(self, cluster: KafkaCluster, auto_offset_reset: str) -> None:
        self._cluster = cluster
        self._reset = auto_offset_reset
        self._looked_s = float("-inf")
        # As long as the client itself would take to see them, if it was told.
        self._look_again_after_s = float(cluster.settings.get(_REFRESH, _LOOK_AGAIN_AFTER_MS)) / 1000

    def topics(self) -> Mapping[str, int]:
        return self._cluster.topics()

    def first_offsets(self, places: Sequence[Place], known: Mapping[str, int]) -> dict[str, int]:
        """As `auto_offset_reset` says; partitions that a topic got later are read from their beginning."""
        seen = {key.rpartition("-")[0] for key in known}
        new = [place for place in places if offset_key(place) not in known]
        latest = [place for place in new if self._reset == "latest" and place[0] not in seen]
        earliest = [place for place in new if place not in latest]
        found = [
            *zip(latest, self._cluster.ends(latest), strict=True),
            *zip(earliest, self._cluster.beginnings(earliest), strict=True),
        ]
        return {**known, **{offset_key(place): offset for place, offset in found}}

    def prepare(self, plan: Plan) -> None:
        """Creates the output topics that are missing, and ends what an earlier start still writes.

        A topic of dead letters takes what the topics take that are read.
        """
        known = self._cluster.topics()
        missing = {topic: plan.partitions[topic] for topic in plan.sink_topics if topic not in known}
        letters = plan.error_handlers.dead_letter_topic
        if letters in missing:
            taken = [rule.max_bytes for rule in self._cluster.rules(plan.source_topics).values() if rule.max_bytes]
            settings = {"max.message.bytes": str(max(taken) + _ROOM_FOR_HEADERS)} if taken else {}
            self._cluster.create({letters: missing.pop(letters)}, settings)
        self._cluster.create(missing)
        if plan.exactly_once:
            _commits(plan).take_over(plan.spark_partitions)

    def settle(self, plan: Plan) -> None:
        if plan.exactly_once:
            _commits(plan).settle(plan.spark_partitions)

    def last_batch(self, plan: Plan) -> int | None:
        return _commits(plan).last_batch() if plan.exactly_once else None

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
            commits.forget()
        group = ConsumerGroup(self._cluster, application_id)
        if group.exists():
            group.delete()

    def ends(self, places: Sequence[Place]) -> list[int]:
        self._refuse_new_partitions(places)
        return self._cluster.ends(places)

    def admitted(
        self,
        plan: Plan,
        starts: Sequence[int],
        ends: Sequence[int],
        limit: int,
        now_ms: int | None,  # noqa: ARG002
    ) -> list[int]:
        for place, start, end in zip(plan.places, starts, ends, strict=True):
            if end < start:
                message = (
                    f"Topic {place[0]!r}, partition {place[1]}, ends at offset {end}, but application "
                    f"{plan.application_id!r} has read up to {start}. Was the topic deleted and made anew? Start the "
                    "application anew: with another application_id and state_dir, or after `headrace reset`."
                )
                raise TopicError(message)
        take = by_time_index(lambda time_ms: self._cluster.offsets_at(plan.places, time_ms))
        return admitted(plan.places, starts, ends, limit, take, plan.global_topics)

    def locate(self, place: Place, first: int, last: int) -> None:  # noqa: ARG002
        return None

    def read(self, place: Place, first: int, last: int, located: None) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        return self._cluster.read(*place, first, last)

    def _refuse_new_partitions(self, places: Sequence[Place]) -> None:
        """A running query reads the partitions it started with; a new one is needed for others."""
        if time.monotonic() < self._looked_s + self._look_again_after_s:
            return
        known = self._cluster.topics()
        for topic in {topic for topic, _ in places}:
            expected = sum(other == topic for other, _ in places)
            if known.get(topic) != expected:
                found = f"has {known[topic]} partitions" if topic in known else "is gone"
                message = f"Topic {topic!r} {found}; it had {expected} when this run of the application began."
                raise NewPartitionsError(message)
        self._looked_s = time.monotonic()


def _noted(cluster: KafkaCluster, application_id: str, instance: str | None) -> Commits | None:
    """The transactions of an instance, if there are any."""
    if instance is None:
        return None
    commits = Commits(cluster, application_id, instance, start=0)
    return commits if commits.noted() else None


def _commits(plan: Plan) -> Commits:
    assert plan.broker is not None
    return Commits(plan.broker, plan.application_id, plan.instance, plan.epoch)
