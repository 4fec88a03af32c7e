"""Embedded topics as an application sees them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from headrace._runtime.spark.admission import admitted, by_timestamps
from headrace._runtime.spark.plan import Plan
from headrace.topics.kafka_cluster import Place
from headrace.topics.log import Extent, TopicLog

_ABANDONED_AFTER_S = 24 * 3600  # data files of writers that were killed; no batch takes so long


class EmbeddedHome:
    """The topics of a directory. All partitions begin at offset 0, and offsets have no gaps."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._log = TopicLog(directory)

    def topics(self) -> Mapping[str, int]:
        return self._log.topics()

    def first_offsets(self, places: Sequence[Place], known: Mapping[str, int]) -> dict[str, int]:  # noqa: ARG002
        return {}

    def prepare(self, plan: Plan) -> None:  # noqa: ARG002
        self._log.sweep(_ABANDONED_AFTER_S)

    def settle(self, plan: Plan) -> None:
        """A commit is seen at once."""

    def last_batch(self, plan: Plan) -> int | None:
        return self._log.last_batch(plan.instance)

    def traces(self, application_id: str, instance: str | None) -> Sequence[str]:  # noqa: ARG002
        """Commits name their instance, and the next one has another."""
        return ()

    def forget(self, application_id: str, instance: str | None) -> None:
        pass

    def ends(self, places: Sequence[Place]) -> list[int]:
        self._log.refresh()
        return [self._log.end_offsets(topic)[partition] for topic, partition in places]

    def admitted(
        self, plan: Plan, starts: Sequence[int], ends: Sequence[int], limit: int, now_ms: int | None
    ) -> list[int]:
        take = by_timestamps(self._log, plan.places, lambda topic: plan.latest_ms(topic, now_ms))
        return admitted(plan.places, starts, ends, limit, take, plan.global_topics)

    def locate(self, place: Place, first: int, last: int) -> list[Extent]:
        return self._log.extents(*place, first, last)

    def read(self, place: Place, first: int, last: int, located: list[Extent]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        return self._log.read_extents(located, first, last)
