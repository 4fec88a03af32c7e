"""A running application: session, manifest, query, and what can be asked of them."""

from __future__ import annotations

import logging
import uuid
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from headrace._core.metrics import readable
from headrace._graph.configured import configured
from headrace._graph.graph import Graph
from headrace._graph.partitions import partition_counts
from headrace._runtime.pending import holding
from headrace._runtime.spark import manifest as manifests
from headrace._runtime.spark import query as queries
from headrace._runtime.spark.clock import Clock, system_clock
from headrace._runtime.spark.counters import CounterFile
from headrace._runtime.spark.finish import FinishFile
from headrace._runtime.spark.interactive import StoreReader
from headrace._runtime.spark.plan import Plan, make_plan
from headrace._runtime.spark.presence import Presence
from headrace._runtime.spark.session import default_partitions, own_session
from headrace._runtime.spark.topic_home import home_of
from headrace.config import StreamsConfig
from headrace.errors import NewPartitionsError, StateError, StreamsError
from headrace.pending import Pending
from headrace.topics.kafka_cluster import Place

_logger = logging.getLogger(__name__)


class Application:
    """What `Streams` is once Spark is needed."""

    def __init__(self, graph: Graph, config: StreamsConfig, spark: Any) -> None:
        self._graph = configured(graph, config)
        self._config = config
        self._home = home_of(config)
        self._owns_session = spark is None
        self._given_session = spark
        self._session: Any = None
        self._query: Any = None
        self._presence = Presence(config.state_dir)
        self._run = uuid.uuid4().hex
        self.clock: Clock = system_clock

    @property
    def spark(self) -> Any:
        if self._session is None:
            self._session = own_session(self._config) if self._owns_session else self._given_session
        return self._session

    def process_available(self) -> None:
        self._refuse_running("process_available()")
        try:
            self._process_available(self.clock)
        finally:
            self._presence.leave()

    def _process_available(self, clock: Clock) -> None:
        while True:
            plan, query = self._started(clock, available_now=True)
            before = self._written_and_read(plan)
            try:
                queries.await_end(query)
            except NewPartitionsError as found:
                _logger.warning("%s", found)
                continue
            self._home.settle(plan)
            if self._written_and_read(plan) == before:
                return
            # Further rounds see one time: a clock that feeds an input topic would else never come to an end.
            clock = partial(int, clock())

    def start(self) -> None:
        self._refuse_running("start()")
        _, self._query = self._started(self.clock, available_now=False)

    def await_termination(self, timeout: timedelta | None) -> bool:
        if self._query is None:
            message = "The application is not running; call start() first."
            raise StreamsError(message)
        try:
            return self._await_termination(timeout)
        finally:
            if not self._query.isActive:
                self._presence.leave()

    def _await_termination(self, timeout: timedelta | None) -> bool:
        while True:
            try:
                return queries.await_end(self._query, timeout)
            except NewPartitionsError as found:
                _logger.warning("%s", found)
                _, self._query = self._started(self.clock, available_now=False)

    def finish(self) -> None:
        """Lets the micro-batch that is under way be the last of this run; the query goes on, without another."""
        FinishFile(self._config.state_dir).ask(self._run)

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()
            self._query = None
        self._presence.leave()
        if self._session is not None and self._owns_session:
            self._session.stop()
            self._session = None

    def store(self, name: str) -> Any:
        return self._reader().store(name)

    def explain_pending(self, name: str | None) -> list[Pending]:
        nodes = holding(self._graph, name)
        return self._reader().pending(nodes) if nodes else []

    def metrics(self) -> dict[str, dict[str, Any]]:
        return readable(CounterFile(self._config.state_dir).read())

    def _reader(self) -> StoreReader:
        return StoreReader(self.spark, self._graph, self._planned()[0], self._config)

    def _refuse_running(self, call: str) -> None:
        if self._query is not None and self._query.isActive:
            message = f"{call} was called while application {self._config.application_id!r} runs; stop() it first."
            raise StreamsError(message)

    def _planned(self) -> tuple[Plan, manifests.Manifest]:
        """The plan, after checking that topics and state directory fit it, and the manifest of its next start."""
        user_topics = self._home.topics()
        manifest = manifests.load(self._config)
        if manifest is None:
            _, tasks = partition_counts(self._graph, user_topics)
            wanted = self._config.spark.get("spark.sql.shuffle.partitions")
            manifest = manifests.new(
                self._config, int(wanted) if wanted else default_partitions(self.spark, max(tasks))
            )
        plan = make_plan(
            self._graph,
            self._config,
            user_topics,
            spark_partitions=manifest.spark_partitions,
            instance=manifest.instance,
            epoch=manifest.epoch + 1,
            run=self._run,
            partitions_before=manifest.partitions,
        )
        current = manifests.layout(plan, self._config)
        if manifest.epoch:
            manifests.refuse_incompatible(manifest, current, self._config)
            self._refuse_lost_checkpoint(plan)
        plan = replace(plan, first_offsets=self._home.first_offsets(plan.places, manifest.first_offsets))
        return plan, manifests.next_start(manifest, current, dict(plan.first_offsets))

    def _started(self, clock: Clock, *, available_now: bool) -> tuple[Plan, Any]:
        """A new start of the application; any earlier one still running can no longer write."""
        try:
            if manifests.load(self._config) is not None:
                self._presence.enter()  # so that nobody resets what the plan relies on
            plan, manifest = self._planned()
            plan = replace(plan, clock=clock)
            manifests.save(self._config, manifest)
            self._presence.enter()
            self._home.prepare(plan)
            return plan, queries.start(self.spark, plan, self._config, available_now=available_now)
        except BaseException:
            self._presence.leave()
            raise

    def _refuse_lost_checkpoint(self, plan: Plan) -> None:
        if any(queries.checkpoint(self._config).glob("offsets/*")):
            return
        batches = self._home.last_batch(plan)
        if batches is not None:
            message = (
                f"The checkpoint of application {self._config.application_id!r} in {str(self._config.state_dir)!r} "
                f"is gone, though it has written {batches + 1} batches. Restore it, or start anew: with another "
                "state_dir, or after `headrace reset`."
            )
            raise StateError(message)

    def _written_and_read(self, plan: Plan) -> dict[Place, int]:
        """End offsets of topics that this application both writes and reads: what it wrote is input again."""
        looped = [place for place in plan.places if place[0] in plan.sink_topics]
        return dict(zip(looped, home_of(plan).ends(looped), strict=True)) if looped else {}
