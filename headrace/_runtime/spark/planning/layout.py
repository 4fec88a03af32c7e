"""The layout of a topology's state: written into the state log at every start, compared with the one before."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace._graph.stores import StoreSpec
from headrace._runtime.defaults import Defaults
from headrace._runtime.spark.planning.plan import Plan, Stage
from headrace.config import StreamsConfig
from headrace.errors import StateError


class SavedStage(msgspec.Struct, frozen=True):
    """A stage as far as its state depends on it."""

    sub_topology: int
    tasks: int
    repartitions: tuple[str, ...]
    stores: dict[str, tuple[str, ...]]
    partitions: dict[str, int] = {}


def saved_layout(layout: Any) -> tuple[SavedStage, ...]:
    """The layout that a start has written into the log."""
    return msgspec.convert(layout or (), tuple[SavedStage, ...])


def saved_partitions(layout: tuple[SavedStage, ...]) -> dict[str, int]:
    """The number of partitions of the topics that its stages read, internal ones too."""
    return {topic: number for stage in layout for topic, number in stage.partitions.items()}


def layout_of(plan: Plan, config: StreamsConfig) -> tuple[SavedStage, ...]:
    defaults = Defaults.of(config)
    whole = {name for stage in plan.stages for name in stage.blueprint.graph.global_tables}
    return tuple(
        SavedStage(
            stage.blueprint.sub.number,
            stage.tasks,
            tuple(sorted(stage.blueprint.sub.internal_topics)),
            {
                name: (*map(repr, defaults.serdes(store)), _kind(store, whole=name in whole))
                for name in stage.blueprint.sub.stores
                for store in [stage.blueprint.spec(name)]
            },
            {topic: plan.partitions[topic] for topic in sorted(_dealt_by(plan, stage))},
        )
        for stage in plan.chain
    )


def _dealt_by(plan: Plan, stage: Stage) -> set[str]:
    """The topics whose partitions decide which task of a stage has a record; for a relay those of its writer."""
    read = set(stage.blueprint.sub.source_topics)
    for writer in plan.stages:
        if read & plan.relays & {sink.topic for sink in writer.blueprint.sub.sinks}:
            read |= set(writer.blueprint.sub.source_topics)
    return read - plan.relays


def _kind(store: StoreSpec, *, whole: bool) -> str:
    """What a store keeps, as far as the form of its entries depends on it, or which entries each task has."""
    by_key = " with a time for each key (allow_stream_time_key_tracking)" if getattr(store, "by_key", False) else ""
    return f"{type(store).__name__.removesuffix('Spec')} store{by_key}{' of a global table' if whole else ''}"


def refuse_incompatible(before: tuple[SavedStage, ...], current: tuple[SavedStage, ...], config: StreamsConfig) -> None:
    """Raises a `StateError` that says what changed, if the state cannot be continued by this topology."""
    changes = _changes(before, current)
    if not changes:
        _refuse_moved_keys(before, current, config)
    if changes:
        listed = "\n  - ".join(changes)
        message = (
            f"The topology of application {config.application_id!r} changed since its last start on "
            f"{str(config.state_dir)!r} in a way that its state does not fit:\n  - {listed}\n"
            "Run the old topology, or start anew: with another application_id and state_dir, or after `headrace "
            "reset`. Stores given a name with store= keep it when other operators come and go."
        )
        raise StateError(message)


def _changes(before: tuple[SavedStage, ...], now: tuple[SavedStage, ...]) -> list[str]:
    old, new = _by_store(before), _by_store(now)
    changes = [f"store {name!r} is gone" for name in old if name not in new]
    if len(before) != len(now):
        changes += [f"store {name!r} is new" for name in new if name not in old]
        were, are = ({topic for stage in stages for topic in stage.repartitions} for stages in (before, now))
        changes += [f"repartition {topic!r} is gone" for topic in sorted(were - are)]
        changes += [f"repartition {topic!r} is new" for topic in sorted(are - were)]
        changes.append(f"there are {len(now)} stages, there were {len(before)}")
        return changes
    for name in old.keys() & new.keys():
        (was_in, had), (is_in, has) = old[name], new[name]
        if not was_in & is_in:
            changes.append(f"store {name!r} moved from stage {_listed(was_in)} to stage {_listed(is_in)}")
        elif is_in - was_in:
            missing = _listed(is_in - was_in)
            changes.append(f"store {name!r} is new in stage {missing}, which has not read its topic from the start")
        if had[:2] != has[:2]:
            changes.append(f"store {name!r} has the serdes {has[:2]}, it had {had[:2]}")
        if had[2:] != has[2:]:
            changes.append(f"store {name!r} is a {has[2]}, it was a {had[2]}")
    return changes


def _refuse_moved_keys(before: tuple[SavedStage, ...], now: tuple[SavedStage, ...], config: StreamsConfig) -> None:
    """Only where no rows are kept may records come to other tasks than before."""
    for was, stage in zip(before, now, strict=True):
        dealt_anew = [
            topic for topic, number in stage.partitions.items() if was.partitions.get(topic, number) != number
        ]
        if not stage.stores or (was.tasks == stage.tasks and not dealt_anew):
            continue
        told = [topic for topic in dealt_anew if topic not in stage.repartitions] or dealt_anew
        changes = [f"topic {t!r} has {stage.partitions[t]} partitions, it had {was.partitions[t]}" for t in told]
        message = (
            f"Application {config.application_id!r} cannot go on from its state in {str(config.state_dir)!r}: "
            f"{' and '.join(changes) or f'there are {stage.tasks} tasks, there were {was.tasks}'}. Keys would come to "
            f"tasks that do not have their rows, in store {' and '.join(map(repr, sorted(stage.stores)))}. Start anew, "
            "with another application_id and state_dir, or after `headrace reset`. A topology that calls repartition() "
            "before it keeps state has its own number of partitions, and goes on when a topic gets more."
        )
        raise StateError(message)


def _by_store(stages: tuple[SavedStage, ...]) -> dict[str, tuple[set[int], tuple[str, ...]]]:
    """The stages of every store, of which a global table may have several, and what it keeps."""
    found: dict[str, tuple[set[int], tuple[str, ...]]] = {}
    for index, stage in enumerate(stages):
        for name, kept in stage.stores.items():
            found.setdefault(name, (set(), kept))[0].add(index)
    return found


def _listed(stages: set[int]) -> str:
    return " and ".join(map(str, sorted(stages)))
