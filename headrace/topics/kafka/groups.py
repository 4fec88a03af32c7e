"""The consumer group of an application: publishes how far it has read, for tools that show consumer lag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.errors import TopicError
from headrace.topics.kafka.client import ANSWER_WITHIN_S, client
from headrace.topics.kafka.cluster import KafkaCluster, Place


class ConsumerGroup:
    """A consumer group, to which Headrace only publishes offsets.

    Headrace never joins the group, so it has members only if another program uses the same group name. Headrace never
    reads the offsets back either: it continues from the offsets in the state log.
    """

    def __init__(self, cluster: KafkaCluster, name: str) -> None:
        self._cluster = cluster
        self._name = name

    def commit(self, offsets: Mapping[Place, int]) -> None:
        """Publishes offsets, and waits until Kafka has stored them.

        As usual in Kafka, each is the offset of the next record to read, not of the last record read.
        """
        consumer = self._cluster.consumer(**{"group.id": self._name})
        try:
            positions = [client().TopicPartition(*place, offset) for place, offset in offsets.items()]
            doing = f"commit the offsets of group {self._name!r}"
            self._cluster.retry(doing, lambda: _commit(consumer, positions))
        finally:
            consumer.close()

    def commit_soon(self, offsets: Mapping[Place, int]) -> None:
        """Publishes offsets as `commit` does, without waiting for Kafka's response."""
        positions = [client().TopicPartition(*place, offset) for place, offset in offsets.items()]
        with self._cluster.translate_errors(f"commit the offsets of group {self._name!r}"):
            self._cluster.group_consumer(self._name).commit(offsets=positions, asynchronous=True)

    def exists(self) -> bool:
        """Whether the group exists.

        Raises:
            TopicError: if the group has members, because another program uses its name.
        """
        group = self._describe()
        if group is None or group.state == client().ConsumerGroupState.DEAD:
            return False
        if group.members:
            clients = ", ".join(sorted({f"{member.client_id} on {member.host}" for member in group.members}))
            message = (
                f"Consumer group {self._name!r} at {self._cluster.bootstrap_servers} has active members ({clients}), "
                "which do not belong to Headrace. Stop them first, or use another application_id."
            )
            raise TopicError(message)
        return True

    def delete(self) -> None:
        """Deletes the group with all its offsets."""
        with self._cluster.translate_errors(f"delete consumer group {self._name!r}"):
            admin = self._cluster.admin
            admin.delete_consumer_groups([self._name], request_timeout=ANSWER_WITHIN_S)[self._name].result()

    def _describe(self) -> Any:
        kafka = client()
        with self._cluster.translate_errors(f"describe consumer group {self._name!r}"):
            admin = self._cluster.admin
            answers = admin.describe_consumer_groups([self._name], request_timeout=ANSWER_WITHIN_S)
            try:
                return answers[self._name].result()
            except kafka.KafkaException as failure:
                if failure.args[0].code() == kafka.KafkaError.GROUP_ID_NOT_FOUND:
                    return None
                raise


def _commit(consumer: Any, positions: Sequence[Any]) -> None:
    for committed in consumer.commit(offsets=positions, asynchronous=False):
        if committed.error is not None:
            raise client().KafkaException(committed.error)
