"""Where the topics of an application live: in a directory, or on Kafka. Both are asked the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from headrace._runtime.spark.plan import Plan
from headrace.config import StreamsConfig
from headrace.topics.kafka_cluster import KafkaCluster, Place


class TopicHome(Protocol):
    """The topics as the application, the planner of batches and the workers see them. Offsets go by place."""

    def topics(self) -> Mapping[str, int]:
        """The number of partitions of every topic."""

    def first_offsets(self, places: Sequence[Place], known: Mapping[str, int]) -> dict[str, int]:
        """Where an application begins to read; `known` is what was said at its earlier starts, and stays."""

    def prepare(self, plan: Plan) -> None:
        """What is to be done before the query of a plan starts."""

    def settle(self, plan: Plan) -> None:
        """Returns when everybody can see what the query of a plan has written."""

    def last_batch(self, plan: Plan) -> int | None:
        """The newest batch of which anything is written, `None` before the first, or if nobody keeps that."""

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


def home_of(settings: Plan | StreamsConfig) -> TopicHome:
    """The topics that a plan or a configuration names.

    A broker that is away is waited for by those who run a plan; who has but a configuration is told within seconds.
    """
    from headrace._runtime.spark.embedded_home import EmbeddedHome
    from headrace._runtime.spark.kafka_home import KafkaHome

    if isinstance(settings, Plan):
        if settings.broker is not None:
            return KafkaHome(settings.broker, settings.auto_offset_reset)
        return EmbeddedHome(settings.topics_dir)
    if settings.bootstrap_servers is not None:
        cluster = KafkaCluster(settings.bootstrap_servers, settings.kafka)
        return KafkaHome(cluster, settings.auto_offset_reset)
    assert settings.topics_dir is not None
    return EmbeddedHome(settings.topics_dir)


def offset_key(place: Place) -> str:
    """The name of a topic-partition in the offsets that Spark logs."""
    return f"{place[0]}-{place[1]}"
