"""How many partitions every topic has and how many tasks every stage; unequal topics that must meet are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace._graph.graph import Copartition, Graph, SubTopology
from headrace._graph.stages import stages
from headrace.errors import TopicError, known_names, nearest


def partition_counts(
    graph: Graph, user_topics: Mapping[str, int], before: Mapping[str, int] | None = None
) -> tuple[dict[str, int], list[int]]:
    """Partitions of every topic and tasks of every stage.

    An internal topic has as many partitions as the topics it is joined with, else as it had `before`, else as its
    writers have tasks. Output topics that do not exist yet get as many as the stage that writes them has tasks, that of
    dead letters as the largest has. Global topics make no tasks; a stage that reads nothing else has one.
    """
    for topic in graph.source_topics:
        if topic not in user_topics:
            message = (
                f"The topology reads topic {topic!r}, which does not exist.{nearest(topic, user_topics)} "
                f"Known topics: {known_names(user_topics)}. Create it with LocalTopics(...).create({topic!r}), "
                f"KafkaTopics(...).create({topic!r}) or `headrace topics create {topic}`."
            )
            raise TopicError(message)
    cut = stages(graph)
    asked = _asked_for(cut)
    fixed = {topic: user_topics[topic] for topic in graph.source_topics} | asked
    _refuse_unequal(graph.copartitions, fixed, asked)
    counts = _settled(cut, fixed, _groups(graph.copartitions), before or {})
    tasks = [_tasks(stage, counts) for stage in cut]
    for stage, number in zip(cut, tasks, strict=True):
        for sink in stage.sinks:
            if not sink.internal:
                counts[sink.topic] = user_topics.get(sink.topic, max(counts.get(sink.topic, 0), number))
    if graph.dead_letter_topic is not None:
        counts[graph.dead_letter_topic] = user_topics.get(graph.dead_letter_topic, max(tasks))
    return counts, tasks


def _asked_for(cut: Iterable[SubTopology]) -> dict[str, int]:
    return {sink.topic: sink.partitions for stage in cut for sink in stage.sinks if sink.partitions is not None}


def _settled(
    cut: Iterable[SubTopology], known: Mapping[str, int], groups: Iterable[set[str]], before: Mapping[str, int]
) -> dict[str, int]:
    """Counts of topics that are read; those that nobody asked for grow until all agree."""
    fixed = dict(known)
    for group in groups:
        for topic in group & known.keys():
            fixed |= dict.fromkeys(group, known[topic])
    # A relay has the partitions of its writer's tasks; only what is dealt by key can have a number of its own.
    dealt = {sink.topic for stage in cut for sink in stage.sinks if sink.internal and not sink.relay}
    fixed |= {topic: number for topic, number in before.items() if topic in dealt and topic not in fixed}
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
    return max((counts[topic] for topic in stage.source_topics), default=1)


def _groups(copartitions: Iterable[Copartition]) -> list[set[str]]:
    """Topics that must agree, also by way of others."""
    groups: list[set[str]] = []
    for _, topics, other_topics in copartitions:
        joined = {*topics, *other_topics}
        touching = [group for group in groups if group & joined]
        groups = [group for group in groups if not group & joined]
        groups.append(joined.union(*touching))
    return groups


def _refuse_unequal(copartitions: Iterable[Copartition], fixed: Mapping[str, int], asked: Mapping[str, int]) -> None:
    agreed: list[Copartition] = []
    for copartition in copartitions:
        agreed.append(copartition)
        for group in _groups(agreed):
            known = sorted(group & fixed.keys(), key=lambda topic: (topic not in copartition.topics, topic))
            different = [topic for topic in known if fixed[topic] != fixed[known[0]]]
            if different:
                first, second = known[0], different[0]
                message = (
                    f"{copartition.operation}() needs topics with the same number of partitions, so that equal keys "
                    f"meet in one task: {first!r} has {fixed[first]}, {second!r} has {fixed[second]}. "
                    f"{_cure(first, second, fixed, asked)}"
                )
                raise TopicError(message)


def _cure(first: str, second: str, fixed: Mapping[str, int], asked: Mapping[str, int]) -> str:
    dealt = second if second in asked else first
    if dealt in asked:
        return (
            f"{dealt!r} has what repartition(partitions={asked[dealt]}) asks for: ask for as many as the other has, or "
            "leave out partitions=, and it has as many as what it is joined with."
        )
    return (
        f"Deal one anew first, e.g. builder.stream({second!r}).repartition(partitions={fixed[first]}), with "
        ".to_table() behind it for a table; or give both topics as many partitions."
    )
