"""Computes the number of partitions of every topic and of tasks of every stage; checks that joins are copartitioned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace._graph.graph import Copartition, Graph, SubTopology
from headrace._graph.nodes import Source
from headrace._graph.stages import stages
from headrace.errors import TopicError, known_names, nearest


def partition_counts(
    graph: Graph, user_topics: Mapping[str, int], before: Mapping[str, int] | None = None
) -> tuple[dict[str, int], list[int]]:
    """The number of partitions of every topic, and the number of tasks of every stage.

    An internal topic has as many partitions as `repartition(partitions=...)` requests, else as many as the topics it is
    joined with, else as many as in `before`, the last start, else as many as its writers have tasks. A new output topic
    gets as many as the stage that writes it has tasks, a new dead letter topic as many as the largest stage has tasks.
    Global topics create no tasks; a stage that reads nothing else has one task. A stage that reads a pattern has at
    least as many tasks as any topic that ever matched it had partitions.
    """
    for topic in graph.source_topics:
        if topic not in user_topics:
            message = (
                f"The topology reads topic {topic!r}, which does not exist.{nearest(topic, user_topics)} "
                f"Known topics: {known_names(user_topics)}. Create it with LocalTopics(...).create({topic!r}), "
                f"KafkaTopics(...).create({topic!r}) or `headrace topics create {topic}`, with the "
                "--topics-dir or --bootstrap-servers of the application."
            )
            raise TopicError(message)
    _refuse_unknown(graph, user_topics)
    cut = stages(graph)
    requested = _requested(cut)
    fixed = {topic: user_topics[topic] for topic in graph.source_topics} | requested
    _refuse_unequal(graph.copartitions, fixed, requested)
    counts = _propagate(cut, fixed, _groups(graph.copartitions), before or {})
    tasks = [_tasks(stage, counts) for stage in cut]
    for stage, number in zip(cut, tasks, strict=True):
        for sink in stage.sinks:
            if not sink.internal:
                counts[sink.topic] = user_topics.get(sink.topic, max(counts.get(sink.topic, 0), number))
    if graph.dead_letter_topic is not None:
        counts[graph.dead_letter_topic] = user_topics.get(graph.dead_letter_topic, max(tasks))
    return counts, tasks


def chosen_topic_partitions(stages: Iterable[tuple[SubTopology, int]]) -> int:
    """The number of partitions of a new topic that a function chose, given all stages, each with its number of tasks.

    As many as the largest stage with such a function has tasks.
    """
    return max((tasks for stage, tasks in stages if stage.dynamic_sinks), default=1)


def _refuse_unknown(graph: Graph, user_topics: Mapping[str, int]) -> None:
    """Raises an error if a repartition takes its number of partitions from a pattern that no topic matches yet."""
    for operation, topics, other_topics, sources, other_sources in graph.copartitions:
        for names, side, other in ((sources, topics, other_topics), (other_sources, other_topics, topics)):
            if names and not side and not any(topic in user_topics for topic in other):
                source = graph.by_name[names[0]]
                assert isinstance(source, Source)
                message = (
                    f"{operation}() needs to know how many partitions its topics have, but no topic matches the "
                    f"pattern {source.shown_topics[0]!r} of source {source.name!r} yet. Create at least one before the "
                    "application starts."
                )
                raise TopicError(message)


def _requested(cut: Iterable[SubTopology]) -> dict[str, int]:
    """The partitions that `repartition(partitions=...)` asks for."""
    return {sink.topic: sink.partitions for stage in cut for sink in stage.sinks if sink.partitions is not None}


def _propagate(
    cut: Iterable[SubTopology], known: Mapping[str, int], groups: Iterable[set[str]], before: Mapping[str, int]
) -> dict[str, int]:
    """Returns the number of partitions of every topic that is read.

    The numbers in `known` are fixed, and so are those of the topics that share one of the `groups` with them, because
    the topics of a group need equal numbers. Other repartitions keep the number that they have in `before`, from the
    last start. The remaining internal topics get as many partitions as the largest stage that writes them has tasks, or
    as the largest topic of their group, if that is more. One such number may raise another, so this repeats until
    nothing changes.
    """
    fixed = dict(known)
    for group in groups:
        for topic in group & known.keys():
            fixed |= dict.fromkeys(group, known[topic])
    # A relay has as many partitions as its writer has tasks; only a repartition can have another number.
    repartitions = {sink.topic for stage in cut for sink in stage.sinks if sink.internal and not sink.relay}
    fixed |= {topic: number for topic, number in before.items() if topic in repartitions and topic not in fixed}
    counts = {topic: 1 for stage in cut for topic in stage.source_topics} | fixed
    while True:
        before = dict(counts)
        for stage in cut:
            for sink in stage.sinks:
                if sink.internal and sink.topic not in fixed:
                    counts[sink.topic] = max(counts[sink.topic], _tasks(stage, counts))
        for group in groups:
            counts |= dict.fromkeys(group, max(counts[topic] for topic in group))
        if counts == before:
            return counts


def _tasks(stage: SubTopology, counts: Mapping[str, int]) -> int:
    return max([1, *(counts[topic] for topic in stage.source_topics), *(s.least_tasks for s in stage.sources)])


def _groups(copartitions: Iterable[Copartition]) -> list[set[str]]:
    """Groups of topics that must have the same number of partitions, directly or through other topics."""
    groups: list[set[str]] = []
    for _, topics, other_topics, *_ in copartitions:
        joined = {*topics, *other_topics}
        touching = [group for group in groups if group & joined]
        groups = [group for group in groups if not group & joined]
        groups.append(joined.union(*touching))
    return groups


def _refuse_unequal(
    copartitions: Iterable[Copartition], fixed: Mapping[str, int], requested: Mapping[str, int]
) -> None:
    # Adds one copartition after the other, so that the error names the first operation that does not fit.
    checked: list[Copartition] = []
    for copartition in copartitions:
        checked.append(copartition)
        for group in _groups(checked):
            known = sorted(group & fixed.keys(), key=lambda topic: (topic not in copartition.topics, topic))
            different = [topic for topic in known if fixed[topic] != fixed[known[0]]]
            if different:
                first, second = known[0], different[0]
                message = (
                    f"{copartition.operation}() needs topics with the same number of partitions, so that equal keys "
                    f"meet in one task: {first!r} has {fixed[first]}, {second!r} has {fixed[second]}. "
                    f"{_advice(first, second, fixed, requested)}"
                )
                raise TopicError(message)


def _advice(first: str, second: str, fixed: Mapping[str, int], requested: Mapping[str, int]) -> str:
    repartition = second if second in requested else first
    if repartition in requested:
        return (
            f"{repartition!r} has the number that repartition(partitions={requested[repartition]}) asks for: use the "
            "number of the other topic, or leave out partitions= to get it automatically."
        )
    return (
        f"Repartition one of them first, e.g. builder.stream({second!r}).repartition(partitions={fixed[first]}), "
        "followed by .to_table() for a table; or create both topics with the same number of partitions."
    )
