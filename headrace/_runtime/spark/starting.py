"""Starts an application: checks its state and topics, then takes over from earlier starts by a log entry."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import msgspec

from headrace._graph.graph import Graph
from headrace._runtime.spark.planning.clock import Clock, system_clock
from headrace._runtime.spark.planning.first_offsets import first_offsets, topic_of
from headrace._runtime.spark.planning.layout import (
    layout_of,
    refuse_incompatible,
    saved_layout,
    saved_partitions,
    saved_pattern_tasks,
)
from headrace._runtime.spark.planning.plan import Plan, make_plan, offset_key
from headrace._runtime.spark.state_directory.log import open_log
from headrace._runtime.spark.state_directory.presence import LOCK_FILE
from headrace._runtime.spark.topics.backend import TopicBackend, backend_of
from headrace._state.log import objects
from headrace._state.log.entries import Start
from headrace._state.log.files import TEMPORARY, explain_errors
from headrace._state.log.state_log import DISCARDED_LOG, LOG, LogView, StateLog, TakenOverError
from headrace.config import StreamsConfig
from headrace.errors import StateError, TopicError

_ATTEMPTS = 100


def committed_view(config: StreamsConfig, log: StateLog | None = None) -> LogView | None:
    """The last committed state of an application; `None` before its first start.

    Raises:
        StateError: if the directory belongs to another application, or is damaged.
    """
    state_dir = config.state_dir
    log = log or log_of(config)
    try:
        # Before the log is read: another start may be writing its first entry at the same time.
        with explain_errors("read", state_dir):
            is_foreign = state_dir.is_dir() and any(map(_is_foreign, state_dir.iterdir()))
        view = log.view()
    except NotADirectoryError as error:
        message = f"state_dir {str(state_dir)!r} is a file. Set state_dir to a directory, which need not exist yet."
        raise StateError(message) from error
    if view is None:
        if is_foreign:
            message = (
                f"state_dir {str(state_dir)!r} is not empty and has no state log: it is not the state directory of "
                f"application {config.application_id!r}. Set state_dir to an empty or new directory."
            )
            raise StateError(message)
        return None
    if view.start.application_id != config.application_id:
        message = (
            f"state_dir {str(state_dir)!r} belongs to application {view.start.application_id!r}, not to "
            f"{config.application_id!r}. Set state_dir to another directory: each application needs its own."
        )
        raise StateError(message)
    return view


def _is_foreign(path: Path) -> bool:
    """Whether a file in a state directory without a log was written by neither a start nor a reset."""
    if path.name in (LOG, objects.OBJECTS):
        return any(not inside.name.startswith(TEMPORARY) for inside in path.iterdir())
    return path.name not in (LOCK_FILE, DISCARDED_LOG)


def log_of(config: StreamsConfig) -> StateLog:
    return open_log(str(config.state_dir.absolute()), config.application_id, sync=config.sync_state)


Parallelism = Callable[[int, LogView | None], tuple[int, bool]]


def start(graph: Graph, config: StreamsConfig, run: str, parallelism: Parallelism, clock: Clock = system_clock) -> Plan:
    """Starts the application: from then on an earlier start that is still running can no longer write.

    `run` identifies the `Streams` object. `parallelism` gets the number of tasks and the last committed state, and
    returns over how many Spark partitions a batch is spread and whether one Spark task may run a whole batch. It is
    called last, when all checks have passed, because it may have to wait for Spark. `clock` gives the time from which
    an offset reset by duration counts back.

    Raises:
        StateError: if state, topics and topology do not fit together.
        TopicError: if a topic is missing, lacks records that were read or must be read again, or is new although its
            offset reset is "none".
    """
    backend, log = backend_of(config), log_of(config)
    for _ in range(_ATTEMPTS):
        before = committed_view(config, log)
        try:
            plan, deleted = _checked(graph, config, run, backend, before, clock())
        except StateError:
            if _number(log.view()) != _number(before):
                continue  # another start has written meanwhile: log and topics were read at different times
            raise
        partitions, fuses = parallelism(max(stage.tasks for stage in plan.stages), before)
        plan = replace(plan, spark_partitions=partitions, fuses=fuses)
        if config.sync_state:
            backend.sync()
        try:
            view = log.start(before, _entry(plan, config, before), deleted)
        except TakenOverError:
            continue  # another start came first: take over from it
        return _prepared(plan, log, view)
    message = (
        f"Application {config.application_id!r} did not start: other starts took over {_ATTEMPTS} times. Stop them."
    )
    raise StateError(message)


def _number(view: LogView | None) -> int:
    return 0 if view is None else view.number


def _checked(
    graph: Graph, config: StreamsConfig, run: str, backend: TopicBackend, before: LogView | None, now_ms: int
) -> tuple[Plan, set[str]]:
    """Makes the plan, after checking that state, topics and topology fit together.

    Also returns the topic-partitions with committed offsets whose topics were deleted, by their names in the state log.
    """
    layout = saved_layout(None if before is None else before.start.layout)
    topics = backend.topics()
    plan = make_plan(
        graph,
        config,
        topics,
        instance=uuid.uuid4().hex if before is None else before.start.instance,
        epoch=1 if before is None else before.epoch + 1,
        run=run,
        partitions_before=saved_partitions(layout),
        pattern_tasks_before=saved_pattern_tasks(layout),
    )
    deleted: set[str] = set()
    if before is not None:
        refuse_incompatible(layout, layout_of(plan, config), config)
        backend.refuse_other_age(plan, before)
        deleted = {key for key in before.state.offsets if topic_of(key) not in topics}
        _refuse_lost_batch(plan, before, backend, topics)
    return replace(plan, first_offsets=first_offsets(backend, plan, config.offset_reset, before, now_ms)), deleted


def _refuse_lost_batch(plan: Plan, before: LogView, backend: TopicBackend, topics: Collection[str]) -> None:
    """Raises a `TopicError` if a batch must be repeated, but a topic that it read was deleted, or created again."""
    if before.unfinished is None:
        return
    offsets = before.next_offsets
    ranges = {key: (offsets.get(key, 0), end) for key, end in before.unfinished.ends.items()}
    ranges = {key: (first, end) for key, (first, end) in ranges.items() if first < end}
    places = {key: place for place in plan.places if (key := offset_key(place)) in ranges}
    ends = dict(zip(places, backend.ends(list(places.values())), strict=True)) if places else {}
    for key, (first, end) in ranges.items():
        if topic_of(key) not in topics:
            problem = "has been deleted."
        elif ends.get(key, end) < end:
            problem = f"ends at offset {ends[key]}. Was it deleted and created again?"
        else:
            continue
        message = (
            f"A batch of application {plan.application_id!r} did not finish and must be repeated with the same "
            f"records, but topic {topic_of(key)!r}, of which it reads offsets {first} to {end - 1}, {problem} Start "
            "over: use another application_id and state_dir, or run `headrace reset`."
        )
        raise TopicError(message)


def _entry(plan: Plan, config: StreamsConfig, before: LogView | None) -> Start:
    return Start(
        config.application_id,
        plan.instance,
        0 if before is None else before.state.batch + 1,
        system_clock(),
        msgspec.to_builtins(layout_of(plan, config)),
        dict(plan.first_offsets),
        plan.patterns,
    )


def _prepared(plan: Plan, log: StateLog, view: LogView) -> Plan:
    plan = replace(plan, epoch=view.epoch)
    backend_of(plan).prepare(plan, view.state)
    log.sweep_temporary()
    objects.sweep(log.files, view.epoch, {**view.state.objects, **view.state.dead})
    return plan
