"""From nodes to running tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace._core import operators as ops
from headrace._core.columnar.compile import columnar_forms
from headrace._core.columnar.joins.forms import join_forms
from headrace._core.columnar.layout import TaskStores
from headrace._core.errors.policy import ErrorPolicy
from headrace._core.metrics import Metrics
from headrace._core.operator import Operator
from headrace._core.operators.processors.lifecycle import LoadProcessorState, Processors
from headrace._core.operators.topics.source import Source
from headrace._core.task.context import Collector, TaskContext
from headrace._core.task.decoding import Decoder
from headrace._core.task.global_tables import GlobalTables
from headrace._core.task.task import Task
from headrace._graph import nodes
from headrace._graph.graph import Graph, SubTopology
from headrace._graph.stages import stages
from headrace._graph.stores import StoreSpec
from headrace._runtime.defaults import Defaults
from headrace._runtime.operators import operator_for
from headrace._runtime.rows import rows_of
from headrace._runtime.stores import make_global_rows, make_store
from headrace._state.bytes.api import ByteStore
from headrace.config import StreamsConfig
from headrace.model.timestamps import Extractor, fail_on_invalid_timestamp

PARTITION_TIMES = "$partition-times"
TASK = "$task"


@dataclass(frozen=True)
class TaskBlueprint:
    """Everything needed to make the tasks of one sub-topology, on any machine.

    `counted_tables` are the global topics of which it is the first reader: its first task counts their records.
    """

    graph: Graph
    sub: SubTopology
    defaults: Defaults
    application_id: str
    counted_tables: frozenset[str]

    @property
    def has_processors(self) -> bool:
        """Whether there are processors of the user's: its tasks then live on from record to record, with clocks."""
        return bool(self.sub.of_type(nodes.Process))

    @property
    def ticks(self) -> bool:
        """Whether its tasks have something to do by the wall clock: they then run in every batch."""
        return self.has_processors or any(
            isinstance(node, nodes.WindowedAggregate | nodes.Suppress | nodes.StreamJoin) and node.idle_ms is not None
            for node in self.sub.nodes
        )

    @property
    def extractors(self) -> dict[str, Extractor]:
        """Extractors that are more than the record's own timestamp, by topic."""
        found: dict[str, Extractor] = {}
        for source in self.sub.sources:
            default = fail_on_invalid_timestamp if source.is_global else self.defaults.extractor
            extractor = source.timestamp_extractor or default
            if not source.internal and extractor is not fail_on_invalid_timestamp:
                found.update(dict.fromkeys(source.topics, extractor))
        return found

    def spec(self, name: str) -> StoreSpec:
        """The description of a store of this sub-topology."""
        return self.graph.stores.get(name) or next(copy for copy in self.sub.copies.values() if copy.name == name)

    @property
    def stores(self) -> tuple[str, ...]:
        """Names of all byte stores a task of this sub-topology needs."""
        times = (PARTITION_TIMES,) if self.extractors else ()
        task = (TASK,) if self.has_processors else ()
        return (*self.sub.stores, *self.internal_stores, *times, *task)

    @property
    def internal_stores(self) -> tuple[str, ...]:
        """Names of what operators keep for themselves."""
        return tuple(dict.fromkeys(name for node in self.sub.nodes for name in node.internal_stores))

    def make_task(
        self,
        partition: int,
        stores: Mapping[str, ByteStore],
        collector: Collector,
        metrics: Metrics,
        places: Sequence[tuple[str, int]],
        *,
        columnar: bool = True,
        system_time_ms: int = 0,
        load_state: LoadProcessorState | None = None,
    ) -> Task:
        """A task on these stores; `columnar=False` keeps it on the record path throughout.

        `system_time_ms` and `load_state` matter to tasks with processors: what the clock shows as they begin, and the
        state with which they go on instead.
        """
        typed = self._typed(stores, self.sub.stores) | {name: stores[name] for name in self.internal_stores}
        context = self._context(partition, collector, typed, metrics, places, self.sub.nodes, system_time_ms)
        context.global_tables = self._tables_of_processors(stores)
        built = {node.name: operator_for(node, self.defaults) for node in self.sub.nodes}
        context.errors.guard(built.values())
        for name, operator in built.items():
            operator.connect([built[child] for child in self.sub.children[name]])
        times = stores.get(PARTITION_TIMES)
        sources, global_sources = (self._sources(built, is_global=is_global) for is_global in (False, True))
        counted = self.counted_tables if partition == 0 else frozenset[str]()
        tables = GlobalTables(context, Decoder(context, global_sources, self.extractors, times), counted)
        forms, joins = {}, {}
        if columnar and not self.has_processors:
            handlers = self.defaults.error_handlers
            task_stores = TaskStores(typed, context.tables, allow_functions=not handlers.skip_results)
            forms = columnar_forms(sources, task_stores)
            joins = join_forms(sources, typed) if handlers.all_fail else {}
        processors: Callable[[], Processors] | None = None
        if self.has_processors:
            users = [operator for operator in built.values() if isinstance(operator, ops.UserProcessor)]
            processors = partial(Processors, context, users, stores[TASK], load_state)
        decoder = Decoder(context, sources, self.extractors, times)
        return Task(context, list(built.values()), decoder, forms, tables, joins, processors)

    def operator_on(self, name: str, partition: int, stores: Mapping[str, ByteStore]) -> Operator:
        """One operator by itself on the stores of a task: to be asked about them, not to be run."""
        node = self.sub.by_name[name]
        typed = self._typed(stores, node.stores) | {name: stores[name] for name in node.internal_stores}
        operator = operator_for(node, self.defaults)
        operator.init(self._context(partition, _Nowhere(), typed, Metrics(), (), (node,)))
        return operator

    def _sources(self, built: Mapping[str, Operator], *, is_global: bool) -> dict[str, Source]:
        """The sources by their topics: of topics that each task has whole, or of the others."""
        found: dict[str, Source] = {}
        for node in self.sub.sources:
            operator = built[node.name]
            assert isinstance(operator, Source)
            if node.is_global == is_global:
                found.update(dict.fromkeys(node.topics, operator))
        return found

    def _tables_of_processors(self, stores: Mapping[str, ByteStore]) -> dict[str, Any]:
        specs = [self.graph.stores[name] for node in self.sub.of_type(nodes.Process) for name in node.global_stores]
        return {spec.name: make_global_rows(spec, stores[spec.name], self.defaults.serdes(spec)) for spec in specs}

    def _typed(self, stores: Mapping[str, ByteStore], names: Sequence[str]) -> dict[str, Any]:
        specs = [self.spec(name) for name in names]
        return {spec.name: make_store(spec, stores[spec.name], self.defaults.serdes(spec)) for spec in specs}

    def _context(
        self,
        partition: int,
        collector: Collector,
        stores: Mapping[str, Any],
        metrics: Metrics,
        places: Sequence[tuple[str, int]],
        running: Sequence[nodes.Node],
        system_time_ms: int = 0,
    ) -> TaskContext:
        context = TaskContext(
            f"{self.sub.number}_{partition}",
            self.application_id,
            collector,
            stores,
            self.graph.stores.keys(),
            metrics,
            places,
            {name: rows_of(self.sub, name, stores) for node in running for name in node.tables},
            system_time_ms,
        )
        context.errors = ErrorPolicy(context, self.defaults.error_handlers)
        return context


class _Nowhere:
    """The collector of operators that are not run."""

    def send(self, topic: str, *_: object) -> None:
        message = f"Nothing is written to {topic!r} by an operator that is only asked."
        raise AssertionError(message)

    send_batch = send


def blueprints(graph: Graph, config: StreamsConfig) -> tuple[TaskBlueprint, ...]:
    """One per sub-topology, each after all that feed it."""
    defaults = Defaults.of(config)
    made: list[TaskBlueprint] = []
    read: set[str] = set()
    for sub in stages(graph):
        made.append(TaskBlueprint(graph, sub, defaults, config.application_id, frozenset(sub.global_topics) - read))
        read.update(sub.global_topics)
    return tuple(made)
