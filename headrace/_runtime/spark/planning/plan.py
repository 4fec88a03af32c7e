"""The plan of a query: its stages, the number of tasks of each, and how records are routed to tasks.

It is plain data, pickled once and read by every worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from headrace._core.errors.handlers import ErrorHandlers
from headrace._graph.graph import Graph
from headrace._graph.nodes import Source
from headrace._graph.partitions import chosen_topic_partitions, partition_counts
from headrace._graph.patterns import matching_topics, patterns_of, with_matching_topics
from headrace._runtime.assemble import TaskBlueprint, blueprints, key_suffixes
from headrace._runtime.dynamic_topics import ReservedTopics
from headrace._runtime.spark.planning.clock import Clock, system_clock
from headrace._runtime.spark.planning.routing import Routes, choose_routes
from headrace.config import StreamsConfig
from headrace.errors import NewPartitionsError
from headrace.topics.kafka.cluster import KafkaCluster, Place


@dataclass(frozen=True)
class Stage:
    """One sub-topology on Spark. An `inline` stage has no state and reads only user topics: it runs during ingest."""

    index: int
    blueprint: TaskBlueprint
    tasks: int
    inline: bool


@dataclass(frozen=True)
class Plan:
    """Everything a worker needs to know about a start of the application.

    Topics are on `broker`; if it is `None`, they are in the directory `topics_dir`. `fuses` says whether one Spark task
    may run a whole batch, and `round_s` how long it runs one batch after the other. If `creates_topics`, output topics
    that functions choose are created when they are missing.
    """

    application_id: str
    topics_dir: str
    broker: KafkaCluster | None
    exactly_once: bool
    state_dir: str
    local_dir: str | None
    instance: str
    epoch: int
    stages: tuple[Stage, ...]
    partitions: Mapping[str, int]
    sink_topics: tuple[str, ...]
    spark_partitions: int
    fuses: bool
    max_records: int
    commit_interval_s: float
    sync_state: bool
    retention_ms: int
    run: str
    clock: Clock
    round_s: float = 10.0
    first_offsets: Mapping[str, int] = field(default_factory=dict)
    creates_topics: bool = True

    @property
    def writes_plan_ahead(self) -> bool:
        """Whether the plan of a batch is written to the state log before the batch runs.

        That is necessary if output is visible before the commit of the batch: on Kafka each task commits its own
        transaction, so a batch that is repeated after a crash must give each task the same records.
        """
        return self.broker is not None and self.exactly_once

    def ranges(self, starts: Sequence[int], ends: Mapping[str, int]) -> Iterator[tuple[Place, int, int]]:
        """What a batch reads: each topic-partition with records, its first offset, and the offset after its last."""
        for place, first in zip(self.places, starts, strict=True):
            last = ends.get(offset_key(place), first)
            if first < last:
                yield place, first, last

    @cached_property
    def needs_ticks(self) -> bool:
        """Whether some tasks act on the wall clock. If so, every batch sends them a tick."""
        return any(stage.blueprint.needs_ticks for stage in self.stages)

    @cached_property
    def needs_clock(self) -> bool:
        """Whether the plan of a batch has a wall-clock time: for ticks, extractors, or a limit to timestamps."""
        return self.needs_ticks or any(
            stage.blueprint.defaults.guard is not None or stage.blueprint.extractors for stage in self.stages
        )

    def latest_ms(self, topic: str, clock_ms: int | None) -> int | None:
        """The highest timestamp that `max_timestamp_ahead` allows in a topic for a batch that is planned at `clock_ms`.

        `None` if there is no limit, or if a timestamp extractor sets the timestamps: then the task checks them, after
        it has called the extractor.
        """
        if topic in self.global_topics:
            return None
        blueprint = self.stage_by_topic[topic].blueprint
        guard = blueprint.defaults.guard
        return None if guard is None or clock_ms is None or topic in blueprint.extractors else clock_ms + guard.ahead_ms

    @cached_property
    def new_topic_partitions(self) -> int | None:
        """The number of partitions of a missing topic that a function chooses; `None` if it must not be created."""
        if not self.creates_topics:
            return None
        return chosen_topic_partitions((stage.blueprint.sub, stage.tasks) for stage in self.stages)

    @cached_property
    def reserved_topics(self) -> ReservedTopics:
        """The topics that functions may not choose."""
        return ReservedTopics(
            self.application_id, self.internal_topics, self.error_handlers.dead_letter_topic, self.graph.patterns
        )

    @property
    def graph(self) -> Graph:
        """The graph, with the topics that matched its patterns at this start."""
        return self.stages[0].blueprint.graph

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """The patterns of topics that the application reads."""
        return tuple(sorted(patterns_of(self.graph)))

    def refuse_other_topics(self, topics: Mapping[str, int]) -> None:
        """Raises a `NewPartitionsError` if other topics match the patterns now than when the query started."""
        if not self.patterns:
            return
        for name, matching in matching_topics(self.graph, topics).items():
            source = self.graph.by_name[name]
            assert isinstance(source, Source)
            changed = sorted(set(matching) ^ set(source.topics))
            if changed:
                what = "matches" if changed[0] in matching else "no longer exists; it matched"
                others = f" ({len(changed) - 1} more topics changed)" if len(changed) > 1 else ""
                message = (
                    f"Topic {changed[0]!r} {what} the pattern {source.shown_topics[0]!r} of source {name!r}{others}. "
                    "The query starts again with the topics that match now."
                )
                raise NewPartitionsError(message)

    @property
    def error_handlers(self) -> ErrorHandlers:
        return self.stages[0].blueprint.defaults.error_handlers

    @cached_property
    def chain(self) -> tuple[Stage, ...]:
        """The stages that run as Spark operators of their own, in order: all but inline ones."""
        return tuple(stage for stage in self.stages if not stage.inline)

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """All topics, user and internal. The channel of a frame is an index into it."""
        return tuple(sorted(self.partitions))

    @cached_property
    def channels(self) -> dict[str, int]:
        return {topic: index for index, topic in enumerate(self.topics)}

    @cached_property
    def internal_topics(self) -> frozenset[str]:
        return frozenset(topic for stage in self.stages for topic in stage.blueprint.sub.internal_topics)

    @cached_property
    def relays(self) -> frozenset[str]:
        """Internal topics whose records stay in the partition of the task that writes them."""
        return frozenset(sink.topic for stage in self.stages for sink in stage.blueprint.sub.sinks if sink.relay)

    @cached_property
    def handed_over(self) -> frozenset[str]:
        """Internal topics whose records come before all others that descend from the same input record."""
        return frozenset(topic for stage in self.stages for topic in stage.blueprint.sub.handed_over)

    @cached_property
    def key_suffixes(self) -> dict[str, int]:
        """How many bytes at the end of a topic's keys encode a window, which does not affect the partition."""
        return key_suffixes(stage.blueprint for stage in self.stages)

    @cached_property
    def source_topics(self) -> tuple[str, ...]:
        """The user topics that the application reads, sorted."""
        read = {topic for stage in self.stages for topic in stage.blueprint.sub.source_topics}
        return tuple(sorted((read | self.global_topics) - self.internal_topics))

    @cached_property
    def global_topics(self) -> frozenset[str]:
        """The topics of global tables: every task of a stage that reads them gets all their records."""
        return frozenset(topic for stage in self.stages for topic in stage.blueprint.sub.global_topics)

    @cached_property
    def places(self) -> tuple[tuple[str, int], ...]:
        """All topic-partitions of the input. The index of each is its rank, which breaks ties in the one order."""
        return tuple((topic, p) for topic in self.source_topics for p in range(self.partitions[topic]))

    @cached_property
    def ranks(self) -> dict[tuple[str, int], int]:
        return {place: rank for rank, place in enumerate(self.places)}

    @cached_property
    def stage_by_topic(self) -> dict[str, Stage]:
        """The stage that reads each topic, without global topics, which several stages may read."""
        return {topic: stage for stage in self.stages for topic in stage.blueprint.sub.source_topics}

    def stages_reading(self, topic: str) -> tuple[Stage, ...]:
        """The stages that read a topic: one, or several if it is global."""
        if topic in self.global_topics:
            return tuple(stage for stage in self.stages if topic in stage.blueprint.sub.global_topics)
        return (self.stage_by_topic[topic],)

    @cached_property
    def routes(self) -> tuple[Routes, ...]:
        """The grouping keys of each stage, by its index."""
        return tuple(choose_routes(stage.tasks, self.spark_partitions) for stage in self.stages)


def offset_key(place: Place) -> str:
    """The name of a topic-partition in the offsets of the state log."""
    return f"{place[0]}-{place[1]}"


def make_plan(
    graph: Graph,
    config: StreamsConfig,
    user_topics: Mapping[str, int],
    *,
    instance: str,
    epoch: int,
    spark_partitions: int = 1,
    fuses: bool = True,
    run: str = "",
    clock: Clock = system_clock,
    partitions_before: Mapping[str, int] | None = None,
    pattern_tasks_before: Mapping[str, int] | None = None,
) -> Plan:
    """Plans a query.

    `user_topics` has the number of partitions of every topic that exists. `partitions_before` has those of the last
    start, which internal topics keep. `pattern_tasks_before` has the most tasks that each pattern of topics ever
    needed: a stage never gets fewer.
    """
    graph = with_matching_topics(graph, user_topics, pattern_tasks_before)
    counts, tasks = partition_counts(graph, user_topics, partitions_before)
    stages = []
    for index, (blueprint, number) in enumerate(zip(blueprints(graph, config), tasks, strict=True)):
        inline = not blueprint.stores and not blueprint.sub.internal_topics
        stages.append(Stage(index, blueprint, number, inline))
    return Plan(
        application_id=config.application_id,
        topics_dir=str(config.topics_dir.absolute()) if config.topics_dir else "",
        broker=_broker(config),
        exactly_once=config.processing_guarantee != "at_least_once",
        state_dir=str(config.state_dir.absolute()),
        local_dir=str(config.local_dir.absolute()) if config.local_dir else None,
        instance=instance,
        epoch=epoch,
        stages=tuple(stages),
        partitions=counts,
        sink_topics=graph.sink_topics,
        spark_partitions=spark_partitions,
        fuses=fuses,
        max_records=config.max_records_per_batch,
        commit_interval_s=config.commit_interval.total_seconds(),
        sync_state=config.sync_state,
        retention_ms=config.state_retention // timedelta(milliseconds=1),
        run=run,
        clock=clock,
        creates_topics=config.dynamic_topics == "create",
    )


def _broker(config: StreamsConfig) -> KafkaCluster | None:
    if config.bootstrap_servers is None:
        return None
    return KafkaCluster(config.bootstrap_servers, config.kafka, config.task_timeout.total_seconds())
