"""A running application on Spark: its session, its query, and reads of its stores and counters."""

from __future__ import annotations

import logging
import math
import time
import uuid
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from typing import Any

from headrace._core.metrics import readable
from headrace._graph.configured import configured
from headrace._graph.graph import Graph
from headrace._runtime.lifecycle import Lifecycle, Supervisor
from headrace._runtime.pending import nodes_holding_results
from headrace._runtime.spark import query as queries
from headrace._runtime.spark.planning.clock import Clock, fixed_clock, system_clock
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.session.session import (
    begin_session,
    cores_of,
    cores_of_launched,
    is_local,
    own_session,
    parallelism,
)
from headrace._runtime.spark.starting import committed_view, log_of, start
from headrace._runtime.spark.state_directory.interactive import StoreReader
from headrace._runtime.spark.state_directory.presence import RunLock
from headrace._runtime.spark.state_directory.recent_batches import recent_batches
from headrace._runtime.spark.state_directory.requests import FinishFile, PauseFile
from headrace._runtime.spark.topics.backend import backend_of
from headrace._runtime.spark.topics.partition_check import warn_of_mismatches
from headrace._runtime.spark.workers.modules import send_with_plan
from headrace._runtime.spark.workers.search_path import program_directory
from headrace._state.log.state_log import LogView
from headrace.config import StreamsConfig
from headrace.errors import NewPartitionsError, StreamsError
from headrace.model.lifecycle import State
from headrace.model.pending import Pending

_logger = logging.getLogger(__name__)
# How long one Spark task runs fused batches. A shared session needs short rounds, so that other queries get their turn;
# in our own, longer rounds are better, because a record that arrives between two rounds waits longer.
_OWN_ROUND_S, _SHARED_ROUND_S = 300.0, 10.0


class Application:
    """Implements `Streams`, which imports this module only when it is used: importing `headrace` needs no Spark."""

    def __init__(self, graph: Graph, config: StreamsConfig, spark: Any, lifecycle: Lifecycle) -> None:
        self._graph = configured(graph, config)
        self._config = config
        self._owns_session = spark is None
        self._session: Any = spark
        self._coming_session: Future[Any] | None = None
        self._query: Any = None
        self._lifecycle = lifecycle
        self._supervisor: Supervisor | None = None
        self._is_paused = False
        self._reader: StoreReader | None = None
        self._lock = RunLock(config.state_dir)
        self._run = uuid.uuid4().hex
        self._has_sampled_keys = False
        self.clock: Clock = system_clock

    @property
    def spark(self) -> Any:
        if self._coming_session is not None:
            coming, self._coming_session = self._coming_session, None
            self._session = coming.result()
        elif self._session is None:
            self._session = own_session(self._config)
        return self._session

    def process_available(self) -> None:
        self._refuse_running("process_available()")
        if self._is_paused:
            message = "process_available() was called while the application is paused. Call resume() first."
            raise StreamsError(message)
        self._lifecycle.move_to(State.STARTING)
        try:
            self._process_available(self.clock)
        except BaseException:
            self._lifecycle.move_to(State.ERROR)
            raise
        finally:
            self._lock.release()
        self._lifecycle.move_to(State.NOT_RUNNING)

    def _process_available(self, clock: Clock) -> None:
        while True:
            before = self._written_to_own_input()
            plan, query = self._start_query(clock, available_now=True)
            self._lifecycle.move_to(State.RUNNING)
            backend = backend_of(plan)
            try:
                queries.await_end(query, plan.state_dir)
            except NewPartitionsError as change:
                _logger.warning("%s", change)
                continue
            backend.settle(plan)
            if self._written_to_own_input() == before:
                return
            # The application has written to its own input topics, so it must process them again. From here on its clock
            # stands still: otherwise schedules that write to an input topic would keep the run busy forever.
            clock = fixed_clock(clock())

    def _written_to_own_input(self) -> list[int]:
        """How many records the application has written so far to each topic that it also reads."""
        view = committed_view(self._config)
        counts = {} if view is None else view.state.counts
        return [counts.get(f"topic {topic}", {}).get("records_out", 0) for topic in self._graph.source_topics]

    def start(self) -> None:
        self._refuse_running("start()")
        self._lifecycle.move_to(State.STARTING)
        try:
            self._start_to_run_on()
        except BaseException:
            self._lifecycle.move_to(State.ERROR)
            raise
        self._supervisor = Supervisor(
            lambda: queries.await_end(self._query, self._config.state_dir),
            self._start_to_run_on,
            self._committed_batch,
            self._lifecycle,
            self._lock.release,
        )
        self._supervisor.start()

    def _start_to_run_on(self) -> None:
        _, self._query = self._start_query(self.clock, available_now=False)
        self._lifecycle.move_to(State.PAUSED if self._is_paused else State.RUNNING)

    def _committed_batch(self) -> int:
        view = committed_view(self._config)
        return -1 if view is None else view.state.batch

    def await_termination(self, timeout: timedelta | None) -> bool:
        if self._supervisor is None:
            message = "The application is not running. Call start() first."
            raise StreamsError(message)
        return self._supervisor.wait(timeout)

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def pause(self) -> None:
        self._is_paused = True
        if self._is_running:
            PauseFile(self._config.state_dir).request(self._run)
            self._lifecycle.move_to(State.PAUSED)

    def resume(self) -> None:
        self._is_paused = False
        if self._is_running:
            PauseFile(self._config.state_dir).withdraw(self._run)
            self._lifecycle.move_to(State.RUNNING)

    def finish(self) -> None:
        """Lets the current batch be the last one. The Spark query stays active until it is stopped."""
        FinishFile(self._config.state_dir).request(self._run)

    def stop(self, timeout: timedelta | None) -> None:
        supervisor = self._supervisor
        if supervisor is not None:
            supervisor.prevent_restarts()
            with supervisor.changing:
                if not supervisor.has_ended:
                    self._lifecycle.move_to(State.PENDING_SHUTDOWN)
                self._end_query(timeout)
            supervisor.join()
            self._query = self._supervisor = None
        self._lock.release()
        if self._lifecycle.state not in (State.ERROR, State.CREATED):
            self._lifecycle.move_to(State.NOT_RUNNING)
        if self._coming_session is not None and self._coming_session.exception() is not None:
            self._coming_session = None
        if self._owns_session and (self._session is not None or self._coming_session is not None):
            self.spark.stop()
            self._session = None

    def _end_query(self, timeout: timedelta | None) -> None:
        """Stops the query after its current batch, or when `timeout` is over: an aborted batch must be repeated."""
        self.finish()
        until_s = math.inf if timeout is None else time.monotonic() + timeout.total_seconds()
        while self._query.isActive and self._query.status["isTriggerActive"] and time.monotonic() < until_s:
            time.sleep(0.01)
        self._query.stop()
        self._run = uuid.uuid4().hex

    def store(self, name: str) -> Any:
        return self._store_reader().store(name)

    def explain_pending(self, name: str | None) -> list[Pending]:
        nodes = nodes_holding_results(self._graph, name)
        return self._store_reader().pending(nodes) if nodes else []

    def metrics(self) -> dict[str, dict[str, Any]]:
        view = committed_view(self._config)
        if view is None:
            return {}
        counters = readable(view.state.counts)
        counters["application"] = counters.get("application", {}) | recent_batches(view, log_of(self._config))
        return counters

    def _store_reader(self) -> StoreReader:
        if self._reader is None:
            self._reader = StoreReader(self._graph, self._config)
        return self._reader

    @property
    def _is_running(self) -> bool:
        return self._supervisor is not None and not self._supervisor.has_ended

    def _refuse_running(self, call: str) -> None:
        if self._is_running:
            message = (
                f"{call} was called while application {self._config.application_id!r} is running. Call stop() first."
            )
            raise StreamsError(message)

    def _start_query(self, clock: Clock, *, available_now: bool) -> tuple[Plan, Any]:
        """Starts the application and its query. From then on, earlier starts can no longer write."""
        try:
            if committed_view(self._config) is not None:
                self._lock.acquire()  # a reset must not delete what the plan relies on
            plan = start(self._graph, self._config, self._run, self._parallelism, clock)
            self._lock.acquire()
            if self._is_paused:
                PauseFile(self._config.state_dir).request(self._run)
            if not self._has_sampled_keys:
                self._has_sampled_keys = True
                warn_of_mismatches(self._graph, self._config)
            plan = replace(plan, clock=clock, round_s=_OWN_ROUND_S if self._owns_session else _SHARED_ROUND_S)
            spark = self.spark
            self._send_modules(spark)
            return plan, queries.start(spark, plan, self._config, available_now=available_now)
        except BaseException:
            self._lock.release()
            raise

    def _send_modules(self, spark: Any) -> None:
        """Sends the application's own modules to workers that run on a cluster or have been started already.

        Workers that this process starts on this machine can import them, because `Streams` extended their search path.
        """
        directory = program_directory()
        starts_workers = self._owns_session and is_local(spark.conf.get("spark.master", "remote"))
        if directory is not None and not starts_workers and not spark.conf.get("spark.submit.pyFiles", ""):
            send_with_plan(directory)

    def _parallelism(self, tasks: int, before: LogView | None) -> tuple[int, bool]:
        cores = cores_of_launched(self._config) if self._owns_session and self._session is None else None
        if cores is None:
            cores = cores_of(self.spark)
        else:
            # Creating a session takes seconds. Meanwhile the start is logged, and transactions of earlier starts end.
            self._coming_session = self._coming_session or begin_session(self._config)
        return parallelism(cores, self._config.spark_partitions, tasks, before)
