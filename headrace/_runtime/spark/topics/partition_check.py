"""Samples input topics to find out whether joined topics are partitioned by the same rule.

Kafka's Java clients choose the partition of a key by murmur2, as Headrace does. librdkafka, and so most Python
producers, use CRC32 unless they are told otherwise. A join of topics that follow different rules misses rows, without
an error.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow.compute as pc

from headrace._core.partitioning import partitions_for
from headrace._graph.graph import Graph
from headrace._graph.nodes import Source
from headrace._graph.partitioners import internal_rules
from headrace._runtime.defaults import Defaults
from headrace._runtime.spark.topics.backend import TopicBackend, backend_of
from headrace.config import StreamsConfig
from headrace.errors import known_names
from headrace.serdes import SessionWindowedKey, WindowedKey
from headrace.serdes.base import shortened

_logger = logging.getLogger(__name__)
MURMUR2, CRC32, OTHER = "murmur2", "CRC32", "another rule"
# What the start of an application samples at most.
_START_KEYS, _START_PARTITIONS, _START_WITHIN_S = 20, 8, 2.0


class KeySample(NamedTuple):
    """The keys sampled from a topic; `misplaced` counts those that are not where murmur2 puts them, by partition.

    `rule` is the rule that all sampled keys follow, `None` if there are no keys. `example` describes a misplaced key.
    """

    topic: str
    partitions: int
    keys: int
    misplaced: Mapping[int, int]
    rule: str | None
    example: str

    def describe(self) -> str:
        """What is wrong with the topic, and what to do."""
        found = (
            f"Topic {self.topic!r} is not partitioned by murmur2, Kafka's default rule: {sum(self.misplaced.values())} "
            f"of {self.keys} sampled keys are in another partition, in partition"
            f"{'s' if len(self.misplaced) > 1 else ''} {', '.join(map(str, sorted(self.misplaced)))} ({self.example})."
        )
        if self.rule == CRC32:
            return (
                f"{found} It was written by a CRC32 producer, librdkafka's default: set partitioner=murmur2_random in "
                "that producer, or call repartition() after reading the topic."
            )
        return (
            f"{found} Some of its producers use a partitioner of their own, or partitions were added to it: call "
            "repartition() after reading the topic."
        )


class Mismatch(NamedTuple):
    """Joined topics that follow different rules; `topics` has the rule of each."""

    operation: str
    topics: Mapping[str, str]

    def describe(self) -> str:
        listed = "; ".join(f"{topic!r} by {rule}" for topic, rule in self.topics.items())
        return (
            f"{self.operation}() joins topics that are partitioned by different rules, so equal keys do not meet and "
            f"rows are missed: {listed}."
        )


def joined_input_topics(graph: Graph) -> list[str]:
    """The user topics that are joined with another topic, which must be partitioned by the same rule."""
    joined = {topic for sides in graph.copartitions for topic in (*sides.topics, *sides.other_topics)}
    return [topic for topic in graph.source_topics if topic in joined]


def sample_keys(
    graph: Graph,
    config: StreamsConfig,
    topics: Iterable[str],
    *,
    keys: int,
    partitions: int | None = None,
    until_s: float = float("inf"),
) -> list[KeySample]:
    """Samples the newest keys of each topic, to see by which rule its producers chose the partitions.

    Reads at most `keys` keys from each of the first `partitions` partitions of a topic (`None`: from all). When
    `time.monotonic()` reaches `until_s`, returns what it has so far. Topics that do not exist or have one partition are
    left out.
    """
    backend = backend_of(config)
    counts, windows = backend.topics(), _window_bytes(graph, config)
    samples = []
    for topic in topics:
        count = counts.get(topic, 1)
        if count > 1 and time.monotonic() < until_s:
            places = [(topic, partition) for partition in range(min(count, partitions or count))]
            samples.append(_sample(backend, places, count, keys, windows.get(topic, 0), until_s))
    return samples


def mismatches(graph: Graph, samples: Iterable[KeySample]) -> list[Mismatch]:
    """The joins of topics that follow different rules. Internal topics with a partitioner are not checked."""
    internal = internal_rules(graph.nodes)
    rules = {topic: MURMUR2 for topic, partitioner in internal.items() if partitioner is None}
    rules |= {sample.topic: sample.rule for sample in samples if sample.rule is not None}
    found = []
    for operation, topics, others, *_ in graph.copartitions:
        known = {topic: rules[topic] for topic in dict.fromkeys((*topics, *others)) if topic in rules}
        # Two topics with rules of their own may or may not follow the same one.
        if len(set(known.values())) > 1:
            found.append(Mismatch(operation, known))
    return list({(one.operation, *one.topics): one for one in found}.values())


def warn_of_mismatches(graph: Graph, config: StreamsConfig) -> None:
    """Samples a few keys of joined topics, and logs a warning for joins that miss rows. It never raises."""
    topics = joined_input_topics(graph)
    if not topics:
        return
    try:
        until_s = time.monotonic() + _START_WITHIN_S
        samples = sample_keys(graph, config, topics, keys=_START_KEYS, partitions=_START_PARTITIONS, until_s=until_s)
        for mismatch in mismatches(graph, samples):
            wrong = [sample.describe() for sample in samples if sample.misplaced and sample.topic in mismatch.topics]
            _logger.warning("%s %s", mismatch.describe(), " ".join(wrong))
    except Exception:
        _logger.debug("Could not sample the keys of %s.", known_names(topics), exc_info=True)


def _sample(
    backend: TopicBackend, places: list[tuple[str, int]], count: int, limit: int, window: int, until_s: float
) -> KeySample:
    keys, by_crc32, example = 0, True, ""
    misplaced: dict[int, int] = {}
    for partition, key in _newest_keys(backend, places, limit, window, until_s):
        keys += 1
        [expected] = partitions_for([key], count).tolist()
        by_crc32 = by_crc32 and (not key or zlib.crc32(key) % count == partition)
        if expected != partition:
            misplaced[partition] = misplaced.get(partition, 0) + 1
            example = example or f"key {shortened(key)} belongs in partition {expected} and is in {partition}"
    rule = None if not keys else MURMUR2 if not misplaced else CRC32 if by_crc32 else OTHER
    return KeySample(places[0][0], count, keys, misplaced, rule, example)


def _newest_keys(
    backend: TopicBackend, places: list[tuple[str, int]], limit: int, window: int, until_s: float
) -> Iterator[tuple[int, bytes]]:
    for (_, partition), batch in backend.newest(places, limit):
        column = batch.column("key")
        keys: list[Any] = (pc.binary_slice(column, 0, -window) if window else column).to_pylist()
        yield from ((partition, key) for key in keys if key is not None)
        if time.monotonic() >= until_s:
            return


def _window_bytes(graph: Graph, config: StreamsConfig) -> dict[str, int]:
    """How many bytes at the end of a topic's keys encode a window, which does not affect the partition."""
    defaults = Defaults.of(config)
    sources = [node for node in graph.nodes if isinstance(node, Source) and not node.internal]
    serdes = {
        topic: defaults.serdes(source)[0].for_topic(topic, "key") for source in sources for topic in source.topics
    }
    return {
        topic: serde.suffix_size
        for topic, serde in serdes.items()
        if isinstance(serde, WindowedKey | SessionWindowedKey)
    }
