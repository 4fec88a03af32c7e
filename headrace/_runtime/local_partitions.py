"""Partitions in the test driver: how many each topic has, and to which one a record goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace._core.partitioning import output_partition, partition_for
from headrace._graph.graph import Graph
from headrace._graph.partitions import chosen_topic_partitions, partition_counts
from headrace._runtime.assemble import TaskBlueprint, key_suffixes
from headrace.errors import TopicError, known_names, nearest
from headrace.topics.embedded.names import check_partition, check_topic


class LocalPartitions:
    """The partitions of all topics, and the tasks of all stages.

    If `partitions` is given, topics and stages have as many partitions and tasks as on Spark, and records go to the
    same partitions. If it is `None`, a record stays in the partition that it is piped into, 0 by default, until a
    repartition: repartitions have one partition, as in Kafka's own test driver.

    Args:
        graph: the topology.
        stages: its stages.
        partitions: how many partitions every input topic has, or a number for each topic by name. Input topics without
            a number have one partition.
    """

    def __init__(
        self, graph: Graph, stages: Sequence[TaskBlueprint], partitions: int | Mapping[str, int] | None
    ) -> None:
        sinks = [sink for stage in stages for sink in stage.sub.sinks]
        self.internal = {sink.topic for sink in sinks if sink.internal}
        self._relays = {sink.topic for sink in sinks if sink.relay}
        self._suffixes = key_suffixes(stages)
        self._turns: dict[str, int] = {}
        self._counts: dict[str, int] | None = None
        self._tasks = [1] * len(stages)
        if partitions is not None:
            self._counts, self._tasks = partition_counts(graph, _partitions_by_topic(graph, partitions))
        subs = [stage.sub for stage in stages]
        self._chosen_topic_partitions = chosen_topic_partitions(zip(subs, self._tasks, strict=True))

    def tasks(self, stage: int) -> range:
        """The partitions for which a stage has tasks from the start; only 0 if no numbers of partitions were given."""
        return range(self._tasks[stage])

    def of_input(self, topic: str, key: bytes | None, requested: int | None) -> int:
        """The partition of a piped record: the requested one, else that of its key, else the next one in turn."""
        count = 1 if self._counts is None else self._counts[topic]
        if requested is not None:
            if self._counts is not None or requested < 0:
                check_partition(topic, requested, count)
            return requested
        if key is not None:
            return partition_for(key, count)
        turn = self._turns.get(topic, 0)
        self._turns[topic] = turn + 1
        return turn % count

    def of_topic(self, topic: str) -> int:
        """The number of partitions of an output topic, also of one that a function chose."""
        return 1 if self._counts is None else self._counts.get(topic, self._chosen_topic_partitions)

    def of_output(self, topic: str, key: bytes | None, task: int) -> int:
        """The partition of a record that the task of partition `task` writes."""
        if topic in self._relays:
            return task
        if self._counts is None:
            return 0 if topic in self.internal else task
        return output_partition(key, task, self.of_topic(topic), self._suffixes.get(topic))

    def of_stored_key(self, stage: int, key: bytes, suffix: int | None) -> int:
        """The partition of the task that has a key in its stores; the last `suffix` bytes of it encode a window."""
        return partition_for(key, self._tasks[stage], suffix)


def _partitions_by_topic(graph: Graph, partitions: int | Mapping[str, int]) -> dict[str, int]:
    if not isinstance(partitions, Mapping):
        for topic in graph.source_topics:
            check_topic(topic, partitions)
        return dict.fromkeys(graph.source_topics, partitions)
    known = {*graph.source_topics, *graph.sink_topics}
    for topic, number in partitions.items():
        if topic not in known:
            message = (
                f"partitions= names topic {topic!r}, which the topology neither reads nor writes."
                f"{nearest(topic, known)} It has: {known_names(known)}. The partitions of a repartition are set by "
                "repartition(partitions=...)."
            )
            raise TopicError(message)
        check_topic(topic, number)
    return dict.fromkeys(graph.source_topics, 1) | dict(partitions)
