"""Sources that read all topics whose names match a pattern. A start fills in the topics.

From then on, such a source is treated like one with a list of topics. As in Kafka Streams, a pattern must match the
whole name. Topics that the application itself writes, and its internal topics, never match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from headrace._graph.graph import Copartition, Graph
from headrace._graph.nodes import Node, Sink, Source
from headrace.errors import TopicError, TopologyError
from headrace.model.offset_reset import AutoOffsetReset, OffsetReset, offset_reset_of


def checked_pattern(pattern: re.Pattern[str], operation: str) -> re.Pattern[str]:
    """Returns the pattern; raises a `TopologyError` if it is a pattern of bytes, because names of topics are texts."""
    if not isinstance(pattern.pattern, str):
        message = f"{operation} was given a pattern of bytes, {pattern.pattern!r}; names of topics are texts."
        raise TopologyError(message)
    return pattern


def checked_reset(given: OffsetReset | None, subject: str) -> AutoOffsetReset | None:
    """Checks the offset reset of a source, which errors call `subject`; `None` means the configured one."""
    return None if given is None else offset_reset_of(given, subject, TopologyError)


def pattern_key(pattern: re.Pattern[str]) -> str:
    """A text that identifies a pattern and its flags, for example in the state log."""
    flags = pattern.flags & ~re.UNICODE
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


def patterns_of(graph: Graph) -> dict[str, Source]:
    """The sources that read a pattern, by the `pattern_key` of the pattern."""
    return {pattern_key(source.pattern): source for source in graph.user_sources if source.pattern is not None}


def matching_topics(graph: Graph, topics: Mapping[str, int]) -> dict[str, list[str]]:
    """The topics among `topics` that match the pattern of each source, sorted, by the name of the source.

    Raises:
        TopicError: if a topic matches the patterns of two sources.
    """
    own = {node.topic for node in graph.nodes if isinstance(node, Sink)} | {graph.dead_letter_topic}
    # Topics of other sources cannot match: the builder has refused them. So this excludes them only to be safe.
    named = {topic for source in graph.user_sources if source.pattern is None for topic in source.topics}
    candidates = sorted(topics.keys() - own - named)
    found: dict[str, list[str]] = {}
    matched: dict[str, Source] = {}
    for source in patterns_of(graph).values():
        assert source.pattern is not None
        found[source.name] = [topic for topic in candidates if source.pattern.fullmatch(topic)]
        for topic in found[source.name]:
            other = matched.setdefault(topic, source)
            if other is not source:
                message = (
                    f"Topic {topic!r} matches the patterns of two sources: {other.shown_topics[0]!r} of {other.name!r} "
                    f"and {source.shown_topics[0]!r} of {source.name!r}. A topic can be read only once: change the "
                    "patterns so that no topic matches both."
                )
                raise TopicError(message)
    return found


def with_matching_topics(
    graph: Graph, topics: Mapping[str, int], tasks_before: Mapping[str, int] | None = None
) -> Graph:
    """Fills in the topics that match now for every source with a pattern, and returns the new graph.

    `topics` has the number of partitions of every topic that exists. `tasks_before` has, by `pattern_key`, the most
    partitions that a topic of the pattern had in earlier starts: there must be at least as many tasks again, even if
    that topic was deleted.

    Raises:
        TopicError: if a topic matches the patterns of two sources.
    """
    found = matching_topics(graph, topics)
    if not found:
        return graph

    def resolve(node: Node) -> Node:
        if not isinstance(node, Source) or node.pattern is None:
            return node
        names = tuple(found[node.name])
        before = (tasks_before or {}).get(pattern_key(node.pattern), 0)
        return replace(node, topics=names, least_tasks=max([before, *(topics[name] for name in names)]))

    return replace(
        graph,
        nodes=tuple(map(resolve, graph.nodes)),
        copartitions=tuple(_resolved(copartition, found) for copartition in graph.copartitions),
    )


def _resolved(copartition: Copartition, found: Mapping[str, list[str]]) -> Copartition:
    topics, other_topics = (
        tuple(dict.fromkeys((*side, *(topic for source in sources for topic in found[source]))))
        for side, sources in (
            (copartition.topics, copartition.sources),
            (copartition.other_topics, copartition.other_sources),
        )
    )
    return copartition._replace(topics=topics, other_topics=other_topics)
