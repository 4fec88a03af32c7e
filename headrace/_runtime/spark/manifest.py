"""What a state directory belongs to: application and layout, saved at the first start, compared at every other."""

from __future__ import annotations

import uuid
from pathlib import Path

import msgspec

from headrace._graph.stores import Store
from headrace._runtime.defaults import Defaults
from headrace._runtime.spark.files import put_whole
from headrace._runtime.spark.plan import Plan, Stage
from headrace._runtime.spark.presence import LOCK_FILE
from headrace.config import StreamsConfig
from headrace.errors import StateError

MANIFEST_FILE = "headrace.json"
_FORMAT = 1


class SavedStage(msgspec.Struct, frozen=True):
    """A stage as far as its checkpoint depends on it."""

    sub_topology: int
    tasks: int
    repartitions: tuple[str, ...]
    stores: dict[str, tuple[str, ...]]
    partitions: dict[str, int] = {}


class Manifest(msgspec.Struct, frozen=True):
    """The owner and the layout of a state directory; `epoch` counts its starts, the newest of which may write.

    `first_offsets` are where it began to read topics of Kafka: a first batch that is repeated begins there.
    """

    application_id: str
    instance: str
    spark_partitions: int
    stages: tuple[SavedStage, ...] = ()
    epoch: int = 0
    first_offsets: dict[str, int] = {}
    format: int = _FORMAT

    @property
    def partitions(self) -> dict[str, int]:
        """Those of the topics that its stages read, internal ones too."""
        return {topic: number for stage in self.stages for topic, number in stage.partitions.items()}


def refuse_fenced(state_dir: str, instance: str, epoch: int) -> None:
    """Raises a `StateError` if the application was started again or reset since the start with this epoch."""
    try:
        newest = msgspec.json.decode((Path(state_dir) / MANIFEST_FILE).read_bytes(), type=Manifest)
    except FileNotFoundError:
        newest = None
    if newest is None or newest.instance != instance:
        message = f"The application on {state_dir!r} was reset: this start of it ends without writing."
        raise StateError(message)
    if newest.epoch != epoch:
        message = (
            f"Application {newest.application_id!r} was started again on {state_dir!r} (start {newest.epoch}; this is "
            f"start {epoch}): the newer one goes on, this one ends without writing."
        )
        raise StateError(message)


def load(config: StreamsConfig) -> Manifest | None:
    """The saved manifest, `None` before the first start.

    Raises:
        StateError: if the directory belongs to another application, or cannot be understood.
    """
    path = config.state_dir / MANIFEST_FILE
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        if config.state_dir.is_dir() and any(path.name != LOCK_FILE for path in config.state_dir.iterdir()):
            message = (
                f"state_dir {str(config.state_dir)!r} is not empty and holds no {MANIFEST_FILE}: it is no state "
                f"directory of application {config.application_id!r}. Give it an empty or new directory."
            )
            raise StateError(message) from None
        return None
    except (NotADirectoryError, msgspec.MsgspecError) as error:
        message = f"state_dir {str(config.state_dir)!r} cannot be used: {path.name} is not readable ({error})."
        raise StateError(message) from error
    if manifest.format != _FORMAT:
        message = f"{path} has format {manifest.format}; this version of Headrace reads format {_FORMAT}. Upgrade it."
        raise StateError(message)
    if manifest.application_id != config.application_id:
        message = (
            f"state_dir {str(config.state_dir)!r} belongs to application {manifest.application_id!r}, not to "
            f"{config.application_id!r}. Give each application a state_dir of its own."
        )
        raise StateError(message)
    return manifest


def new(config: StreamsConfig, spark_partitions: int) -> Manifest:
    return Manifest(config.application_id, uuid.uuid4().hex, spark_partitions)


def next_start(manifest: Manifest, stages: tuple[SavedStage, ...], first_offsets: dict[str, int]) -> Manifest:
    return msgspec.structs.replace(manifest, stages=stages, epoch=manifest.epoch + 1, first_offsets=first_offsets)


def save(config: StreamsConfig, manifest: Manifest) -> None:
    config.state_dir.mkdir(parents=True, exist_ok=True)
    path = config.state_dir / MANIFEST_FILE
    put_whole(path, msgspec.json.format(msgspec.json.encode(manifest)))


def layout(plan: Plan, config: StreamsConfig) -> tuple[SavedStage, ...]:
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


def _kind(store: Store, *, whole: bool) -> str:
    """What a store keeps, as far as the form of its entries depends on it, or which entries each task has."""
    by_key = " with a time for each key (allow_stream_time_key_tracking)" if getattr(store, "by_key", False) else ""
    return f"{type(store).__name__} store{by_key}{' of a global table' if whole else ''}"


def refuse_incompatible(manifest: Manifest, current: tuple[SavedStage, ...], config: StreamsConfig) -> None:
    """Raises a `StateError` that says what changed, if the checkpoint cannot be continued by this topology."""
    changes = _changes(manifest.stages, current)
    if not changes:
        _refuse_moved_keys(manifest.stages, current, config)
    if changes:
        listed = "\n  - ".join(changes)
        message = (
            f"The topology of application {config.application_id!r} changed since its checkpoint in "
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
