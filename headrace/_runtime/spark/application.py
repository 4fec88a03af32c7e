"""A running application: session, manifest, query, and what can be asked of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace._core.metrics import readable
from headrace._graph.graph import Graph
from headrace._runtime.spark import manifest as manifests
from headrace._runtime.spark import query as queries
from headrace._runtime.spark.counters import CounterFile
from headrace._runtime.spark.interactive import StoreReader
from headrace._runtime.spark.plan import Plan, make_plan, partition_counts
from headrace._runtime.spark.session import default_partitions, local_session
from headrace._state.readonly import ReadOnlyTimestampedStore
from headrace.config import StreamsConfig
from headrace.errors import StreamsError
from headrace.topics.log import TopicLog


class Application:
    """What `Streams` is once Spark is needed."""

    def __init__(self, graph: Graph, config: StreamsConfig, spark: Any) -> None:
        self._graph = graph
        self._config = config
        self._owns_session = spark is None
        self._given_session = spark
        self._session: Any = None
        self._query: Any = None

    @property
    def spark(self) -> Any:
        if self._session is None:
            self._session = local_session(self._config) if self._owns_session else self._given_session
        return self._session

    def process_available(self) -> None:
        self._refuse_running("process_available()")
        while True:
            plan = self._prepared()
            before = self._end_offsets(plan)
            queries.await_end(queries.start(self.spark, plan, self._config, available_now=True))
            looped = set(plan.sink_topics) & set(plan.source_topics)
            after = self._end_offsets(plan)
            if not any(before[topic] != after[topic] for topic in looped):
                return

    def start(self) -> None:
        self._refuse_running("start()")
        self._query = queries.start(self.spark, self._prepared(), self._config, available_now=False)

    def await_termination(self, timeout: timedelta | None) -> bool:
        if self._query is None:
            message = "The application is not running; call start() first."
            raise StreamsError(message)
        return queries.await_end(self._query, timeout)

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()
            self._query = None
        if self._session is not None and self._owns_session:
            self._session.stop()
            self._session = None

    def store(self, name: str) -> ReadOnlyTimestampedStore[Any, Any]:
        return StoreReader(self.spark, self._graph, self._prepared(), self._config).store(name)

    def metrics(self) -> dict[str, dict[str, Any]]:
        return readable(CounterFile(self._config.state_dir).read())

    def _refuse_running(self, call: str) -> None:
        if self._query is not None and self._query.isActive:
            message = f"{call} was called while application {self._config.application_id!r} runs; stop() it first."
            raise StreamsError(message)

    def _prepared(self) -> Plan:
        """The plan, after checking that topics and state directory fit it. Saves the manifest at the first start."""
        assert self._config.topics_dir is not None
        user_topics = TopicLog(self._config.topics_dir).topics()
        manifest = manifests.load(self._config)
        if manifest is None:
            _, tasks = partition_counts(self._graph, user_topics)
            wanted = self._config.spark.get("spark.sql.shuffle.partitions")
            manifest = manifests.new(self._config, int(wanted) if wanted else default_partitions(self.spark, max(tasks)))
        plan = make_plan(
            self._graph,
            self._config,
            user_topics,
            spark_partitions=manifest.spark_partitions,
            instance=manifest.instance,
        )
        current = manifests.layout(self._graph, plan, self._config)
        if manifest.stages or (self._config.state_dir / "checkpoint").exists():
            manifests.refuse_incompatible(manifest, current, self._config)
        manifests.save(self._config, manifests.with_stages(manifest, current))
        return plan

    def _end_offsets(self, plan: Plan) -> dict[str, list[int]]:
        log = TopicLog(plan.topics_dir)
        known = log.topics()
        return {topic: log.end_offsets(topic) for topic in {*plan.source_topics, *plan.sink_topics} if topic in known}
