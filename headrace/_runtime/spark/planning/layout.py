"""The layout of a topology's state. Every start writes it to the state log, and compares it with the last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from headrace._graph.nodes import Source
from headrace._graph.partitioners import internal_rules, partitioner_name
from headrace._graph.patterns import pattern_key
from headrace._runtime.defaults import Defaults
from headrace._runtime.spark.planning.plan import Plan, Stage
from headrace.config import StreamsConfig
from headrace.errors import StateError
from headrace.model.routing import StreamPartitioner
from headrace.model.stores.specs import StoreSpec, TimestampedWindowSpec

_OF_GLOBAL_TABLE = " of a global table"


class SavedStage(msgspec.Struct, frozen=True):
    """The properties of a stage that its state depends on.

    `stores` has the serdes and the kind of each store. `partitions` has the number of partitions of each topic that
    decides which task gets a record. `patterns` has the patterns of topics that the stage reads, with the most
    partitions that any of their topics ever had. `partitioners` has the names of the functions that partition its
    internal topics.
    """

    sub_topology: int
    tasks: int
    repartitions: tuple[str, ...]
    stores: dict[str, tuple[str, ...]]
    partitions: dict[str, int] = {}
    patterns: dict[str, int] = {}
    partitioners: dict[str, str] = {}


def saved_layout(layout: Any) -> tuple[SavedStage, ...]:
    """Decodes the layout that a start wrote to the log."""
    return msgspec.convert(layout or (), tuple[SavedStage, ...])


def saved_partitions(layout: tuple[SavedStage, ...]) -> dict[str, int]:
    """The number of partitions of each topic, internal ones included, by the layout that an earlier start has saved."""
    return {topic: number for stage in layout for topic, number in stage.partitions.items()}


def saved_pattern_tasks(layout: tuple[SavedStage, ...]) -> dict[str, int]:
    """The most partitions that the topics of each pattern ever had, by the layout that an earlier start has saved."""
    return {pattern: number for stage in layout for pattern, number in stage.patterns.items()}


def layout_of(plan: Plan, config: StreamsConfig) -> tuple[SavedStage, ...]:
    """The layout of a plan, to be saved."""
    defaults = Defaults.of(config)
    global_tables = {name for stage in plan.stages for name in stage.blueprint.graph.global_tables}
    rules = internal_rules(node for stage in plan.stages for node in stage.blueprint.sub.nodes)
    return tuple(
        SavedStage(
            stage.blueprint.sub.number,
            stage.tasks,
            tuple(sorted(stage.blueprint.sub.internal_topics)),
            {
                name: (*map(repr, defaults.serdes(store)), _describe_kind(store, is_global=name in global_tables))
                for name in stage.blueprint.sub.stores
                for store in [stage.blueprint.spec(name)]
            },
            {topic: plan.partitions[topic] for topic in sorted(_partitioning_topics(plan, stage))},
            _pattern_tasks(plan, stage),
            _partitioners(stage, rules),
        )
        for stage in plan.chain
    )


def _partitioners(stage: Stage, rules: Mapping[str, StreamPartitioner[Any, Any] | None]) -> dict[str, str]:
    chosen = {topic: rules.get(topic) for topic in sorted(stage.blueprint.sub.internal_topics)}
    return {topic: partitioner_name(rule) for topic, rule in chosen.items() if rule is not None}


def _partitioning_topics(plan: Plan, stage: Stage) -> set[str]:
    """The topics whose partitions decide which task of a stage gets a record."""
    return {topic for source in _partitioning_sources(plan, stage) for topic in source.topics} - plan.relays


def _pattern_tasks(plan: Plan, stage: Stage) -> dict[str, int]:
    """The patterns whose topics decide which task of a stage gets a record, and how many tasks each of them needs."""
    return {
        pattern_key(source.pattern): source.least_tasks
        for source in _partitioning_sources(plan, stage)
        if source.pattern is not None
    }


def _partitioning_sources(plan: Plan, stage: Stage) -> list[Source]:
    """Returns the sources whose topic-partition decides which task of a stage gets a record.

    They are the sources that the stage reads. If one of them reads a relay, the sources of the stage that writes the
    relay count as well, and so on, because a record in a relay keeps the partition of the task that wrote it. Sources
    of global tables do not count: every task gets all their records.
    """
    read = set(stage.blueprint.sub.source_topics)
    sources = [source for source in stage.blueprint.sub.sources if not source.is_global]
    for writer in reversed(plan.stages):
        if read & plan.relays & {sink.topic for sink in writer.blueprint.sub.sinks}:
            sources += [source for source in writer.blueprint.sub.sources if not source.is_global]
            read |= set(writer.blueprint.sub.source_topics)
    return sources


def _describe_kind(store: StoreSpec, *, is_global: bool) -> str:
    """Describes the kind of a store, and other properties that decide the format or the task of its entries."""
    by_key = " with a time for each key (allow_stream_time_key_tracking)" if getattr(store, "by_key", False) else ""
    size = ""
    if isinstance(store, TimestampedWindowSpec) and store.windows is None:
        size = f" of windows of {store.window_size_ms} ms"
    return f"{type(store).__name__.removesuffix('Spec')} store{size}{by_key}{_OF_GLOBAL_TABLE if is_global else ''}"


def refuse_incompatible(before: tuple[SavedStage, ...], current: tuple[SavedStage, ...], config: StreamsConfig) -> None:
    """Raises a `StateError` that lists the changes, if this topology cannot continue from the saved state."""
    changes = _changes(before, current)
    if not changes:
        _refuse_moved_keys(before, current, config)
    if changes:
        listed = "\n  - ".join(changes)
        message = (
            f"The topology of application {config.application_id!r} changed since its last start, and no longer fits "
            f"its state in {str(config.state_dir)!r}:\n  - {listed}\n"
            "Run the old topology, or start over: use another application_id and state_dir, or run `headrace reset`. "
            "Name stores with store= so that their names stay the same when other operators are added or removed."
        )
        raise StateError(message)


def _changes(before: tuple[SavedStage, ...], now: tuple[SavedStage, ...]) -> list[str]:
    old, new = _by_store(before), _by_store(now)
    changes = [f"store {name!r} was removed" for name in old if name not in new]
    if len(before) != len(now):
        changes += [f"store {name!r} was added" for name in new if name not in old]
        topics_before, topics_now = (
            {topic for stage in stages for topic in stage.repartitions} for stages in (before, now)
        )
        changes += [f"repartition {topic!r} was removed" for topic in sorted(topics_before - topics_now)]
        changes += [f"repartition {topic!r} was added" for topic in sorted(topics_now - topics_before)]
        changes.append(f"it has {len(now)} stages; it had {len(before)}")
        return changes
    for name in old.keys() & new.keys():
        (was_in, had), (is_in, has) = old[name], new[name]
        if not was_in & is_in:
            changes.append(f"store {name!r} moved from stage {_join_numbers(was_in)} to stage {_join_numbers(is_in)}")
        elif is_in - was_in:
            missing = _join_numbers(is_in - was_in)
            changes.append(f"store {name!r} was added to stage {missing}, which has not read its topic from the start")
        if had[:2] != has[:2]:
            changes.append(f"store {name!r} has the serdes {has[:2]}; it had {had[:2]}")
        if had[2:] != has[2:]:
            changes.append(f"store {name!r} is a {has[2]}; it was a {had[2]}")
    for was, stage in zip(before, now, strict=True):
        for topic in was.repartitions if stage.stores else ():
            old_rule, rule = (saved.partitioners.get(topic, partitioner_name(None)) for saved in (was, stage))
            if topic in stage.repartitions and rule != old_rule:
                changes.append(f"repartition {topic!r} is partitioned by {rule}; it was by {old_rule}")
    return changes


def _refuse_moved_keys(before: tuple[SavedStage, ...], now: tuple[SavedStage, ...], config: StreamsConfig) -> None:
    """Raises a `StateError` if keys of a stage with stores would move to tasks that do not have their rows."""
    for was, stage in zip(before, now, strict=True):
        changed = [topic for topic, number in stage.partitions.items() if was.partitions.get(topic, number) != number]
        if not stage.stores or (was.tasks == stage.tasks and not changed):
            continue
        if stage.tasks > was.tasks and not changed and stage.patterns:
            _refuse_missing_rows(was, stage, config)
            continue  # the new tasks are for a new topic, so no key moves
        # A repartition may have changed because of a user's topic: then only that topic is worth naming.
        named = [topic for topic in changed if topic not in stage.repartitions] or changed
        changes = [f"topic {t!r} has {stage.partitions[t]} partitions; it had {was.partitions[t]}" for t in named]
        message = (
            f"Application {config.application_id!r} cannot continue from its state in {str(config.state_dir)!r}: "
            f"{' and '.join(changes) or f'it has {stage.tasks} tasks; it had {was.tasks}'}. Keys would move to tasks "
            f"that do not have their rows in store {' and '.join(map(repr, sorted(stage.stores)))}. Start over: use "
            "another application_id and state_dir, or run `headrace reset`. To be able to continue when a topic gets "
            "more partitions, call repartition() before stateful operators: it fixes their number of partitions."
        )
        raise StateError(message)


def _refuse_missing_rows(was: SavedStage, stage: SavedStage, config: StreamsConfig) -> None:
    """Raises a `StateError` if new tasks would lack the rows of a global table: its topic has been read already."""
    tables = [name for name, (*_, kind) in stage.stores.items() if kind.endswith(_OF_GLOBAL_TABLE)]
    if tables:
        message = (
            f"Application {config.application_id!r} cannot continue from its state in {str(config.state_dir)!r}: a "
            f"topic that matches {' or '.join(map(repr, sorted(stage.patterns)))} has {stage.tasks} partitions, and "
            f"there are {was.tasks} tasks. New tasks would lack the rows of global table "
            f"{' and '.join(map(repr, sorted(tables)))}, which the other tasks have read. Create the topic with at "
            f"most {was.tasks} partitions; or start over: use another application_id and state_dir, or run `headrace "
            "reset`. With repartition(partitions=...) before the join, any number of partitions is possible."
        )
        raise StateError(message)


def _by_store(stages: tuple[SavedStage, ...]) -> dict[str, tuple[set[int], tuple[str, ...]]]:
    """The stages and the properties of every store. Only a global table has more than one stage."""
    stores: dict[str, tuple[set[int], tuple[str, ...]]] = {}
    for index, stage in enumerate(stages):
        for name, properties in stage.stores.items():
            stores.setdefault(name, (set(), properties))[0].add(index)
    return stores


def _join_numbers(stages: set[int]) -> str:
    return " and ".join(map(str, sorted(stages)))
