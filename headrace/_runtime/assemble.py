"""Builds the tasks of a topology from its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from headrace._core import operators as ops
from headrace._core.caching import RecordCache
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
from headrace._runtime.defaults import Defaults
from headrace._runtime.operators import operator_for
from headrace._runtime.rows import rows_of
from headrace._runtime.stores import make_read_only, make_store
from headrace._state.bytes.api import ByteStore
from headrace.config import StreamsConfig
from headrace.model.stores.specs import StoreSpec
from headrace.model.time.timestamps import Extractor, fail_on_invalid_timestamp
from headrace.serdes import SessionWindowedKey, WindowedKey

PARTITION_TIMES = "$partition-times"
TASK = "$task"

# Sources and sinks, as in Kafka Streams, and nodes that Kafka Streams does not have.
_NO_PROCESSORS = (
    nodes.Source,
    nodes.Sink,
    nodes.HandOver,
    nodes.TakeOver,
    nodes.TableCopy,
    nodes.ForeignKeyLeftRows,
)
_GLOBAL = (
    "Store {!r} belongs to a global table: processors can only read it. Write to its topic instead, with to() or a "
    "sink."
)
_MAINTAINED = (
    "Store {!r} is read-only: only processor {!r} may write it. Write to the topic that this one reads instead, with "
    "to() or a sink."
)


@dataclass(frozen=True)
class TaskBlueprint:
    """Everything needed to build the tasks of one sub-topology, on any machine.

    `counted_tables` are the global topics whose records this sub-topology counts in the metrics. Every task that needs
    a global table reads the whole topic, so only one task counts it: partition 0 of the first such sub-topology.
    """

    graph: Graph
    sub: SubTopology
    defaults: Defaults
    application_id: str
    counted_tables: frozenset[str]

    @property
    def has_processors(self) -> bool:
        """Whether the sub-topology has user-defined processors, which keep fields and schedules between records."""
        return bool(self.sub.of_type(nodes.Process))

    @property
    def needs_ticks(self) -> bool:
        """Whether its tasks act on the wall clock. If so, each task gets a tick and runs in every batch."""
        return self.has_processors or any(
            isinstance(node, nodes.WindowedAggregate | nodes.Suppress | nodes.StreamJoin) and node.idle_ms is not None
            for node in self.sub.nodes
        )

    @property
    def extractors(self) -> dict[str, Extractor]:
        """Timestamp extractors by topic; topics that use the record's own timestamp have none."""
        extractors: dict[str, Extractor] = {}
        for source in self.sub.sources:
            extractor = self._extractor(source)
            if extractor is not None:
                extractors.update(dict.fromkeys(source.topics, extractor))
        return extractors

    def _extractor(self, source: nodes.Source) -> Extractor | None:
        default = fail_on_invalid_timestamp if source.is_global else self.defaults.extractor
        extractor = source.timestamp_extractor or default
        return None if source.internal or extractor is fail_on_invalid_timestamp else extractor

    def spec(self, name: str) -> StoreSpec:
        """Returns the specification of a store of this sub-topology, or of its copy of a table, by the store's name."""
        return self.graph.stores.get(name) or next(copy for copy in self.sub.copies.values() if copy.name == name)

    @property
    def stores(self) -> tuple[str, ...]:
        """Names of all byte stores a task of this sub-topology needs."""
        # A source whose pattern matches no topic yet has an extractor for the topics to come.
        times = (PARTITION_TIMES,) if any(map(self._extractor, self.sub.sources)) else ()
        task = (TASK,) if self.has_processors else ()
        return (*self.sub.stores, *self.internal_stores, *times, *task)

    @property
    def internal_stores(self) -> tuple[str, ...]:
        """Names of the byte stores that operators use internally, such as stream times."""
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
        flush_each_record: bool = False,
        system_time_ms: int = 0,
        load_state: LoadProcessorState | None = None,
    ) -> Task:
        """Builds the task of one partition on its `stores`.

        Args:
            partition: the partition.
            stores: the byte stores of the task, by name.
            collector: receives the output.
            metrics: counts records.
            places: the topic-partitions by their number in `Order.source`.
            columnar: whether the task may use batch forms; if not, it processes record by record.
            flush_each_record: whether the record cache is flushed after every input record, as if each were a commit.
                Records that arrive by a relay are flushed at the end of the batch.
            system_time_ms: the wall-clock time of the batch.
            load_state: loads the processors that the last batch saved, if there are any.
        """
        typed = self._typed_stores(stores, self.sub.stores) | {name: stores[name] for name in self.internal_stores}
        context = self._context(partition, collector, typed, metrics, places, self.sub.nodes, system_time_ms)
        context.read_only_stores = self._read_only_stores(stores)
        built = {node.name: operator_for(node, self.defaults) for node in self.sub.nodes}
        if self.defaults.processor_wrapper is not None:
            for node in self.sub.nodes:
                if not isinstance(node, _NO_PROCESSORS):
                    built[node.name].wrap(self.defaults.processor_wrapper)
        context.errors.guard(built.values())
        for name, operator in built.items():
            operator.connect([built[child] for child in self.sub.children[name]])
        cache = self._cache(context, built, typed)
        times = stores.get(PARTITION_TIMES)
        sources, global_sources = (self._sources(built, is_global=is_global) for is_global in (False, True))
        counted = self.counted_tables if partition == 0 else frozenset[str]()
        tables = GlobalTables(context, Decoder(context, global_sources, self.extractors, times), counted)
        forms, joins = {}, {}
        if columnar and not self.has_processors and self.defaults.processor_wrapper is None:
            handlers = self.defaults.error_handlers
            task_stores = TaskStores(typed, context.tables, allow_functions=not handlers.skip_results)
            plain = {topic: source for topic, source in sources.items() if source.has_plain_serdes(topic)}
            forms = columnar_forms(plain, task_stores)
            joins = join_forms(plain, typed) if handlers.all_fail else {}
        processors: Callable[[], Processors] | None = None
        if self.has_processors:
            users = [operator for operator in built.values() if isinstance(operator, ops.UserProcessor)]
            processors = partial(Processors, context, users, stores[TASK], load_state)
        decoder = Decoder(context, sources, self.extractors, times)
        flushed_with_batch = self.sub.handed_over if flush_each_record else None
        operators = list(built.values())
        return Task(context, operators, decoder, forms, tables, joins, cache, processors, flushed_with_batch)

    def operator_on(self, name: str, partition: int, stores: Mapping[str, ByteStore]) -> Operator:
        """Builds one operator on the stores of a task, to report what it holds back; it must not process records."""
        node = self.sub.by_name[name]
        typed = self._typed_stores(stores, node.stores) | {name: stores[name] for name in node.internal_stores}
        operator = operator_for(node, self.defaults)
        operator.init(self._context(partition, _NoOutput(), typed, Metrics(), (), (node,)))
        return operator

    def _cache(self, context: TaskContext, built: Mapping[str, Operator], stores: Mapping[str, Any]) -> RecordCache:
        """Creates the record cache of the task, and adds the operators that are cached to it."""
        cache = RecordCache(context, self.defaults.cache_max_bytes)
        context.retains_columns = bool(self.defaults.cache_max_bytes) and self.defaults.error_handlers.skip_results
        for node in self.sub.of_type(nodes.TableNode):
            if node.cached:
                cache.add(built[node.name], stores[node.stores[0]], send_old_values=node.send_old_values)
        return cache

    def _sources(self, built: Mapping[str, Operator], *, is_global: bool) -> dict[str, Source]:
        """The source operator of each topic: of global topics if `is_global`, else of all others."""
        sources: dict[str, Source] = {}
        for node in self.sub.sources:
            operator = built[node.name]
            assert isinstance(operator, Source)
            if node.is_global == is_global:
                sources.update(dict.fromkeys(node.topics, operator))
        return sources

    def _read_only_stores(self, stores: Mapping[str, ByteStore]) -> dict[str, Any]:
        """The stores that processors can only read: of global tables, and those that one processor alone may write."""
        processors = self.sub.of_type(nodes.Process)
        reasons = {name: _GLOBAL.format(name) for node in processors for name in node.global_stores}
        for node in processors:
            if node.maintains is not None:
                reasons[node.maintains] = _MAINTAINED.format(node.maintains, node.name)
        return {
            name: make_read_only(self.spec(name), stores[name], self.defaults.serdes(self.spec(name)), reason)
            for name, reason in reasons.items()
        }

    def _typed_stores(self, stores: Mapping[str, ByteStore], names: Sequence[str]) -> dict[str, Any]:
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
            {name: rows_of(self.graph, self.sub.copies, name, stores) for node in running for name in node.tables},
            system_time_ms,
        )
        context.errors = ErrorPolicy(context, self.defaults.error_handlers)
        context.settings = self.defaults.processor_settings
        return context


class _NoOutput:
    """The collector of operators that process no records: it accepts no output."""

    def send(self, topic: str, *_: object) -> NoReturn:
        message = f"An operator that must not process records has written to {topic!r}."
        raise AssertionError(message)

    send_batch = partitions_of = open_topic = send


def key_suffixes(stages: Iterable[TaskBlueprint]) -> dict[str, int]:
    """How many bytes at the end of a topic's keys encode a window, which does not affect the partition."""
    return {
        sink.topic: key_serde.suffix_size
        for stage in stages
        for sink in stage.sub.sinks
        for key_serde in [stage.defaults.serdes(sink)[0]]
        if isinstance(key_serde, WindowedKey | SessionWindowedKey)
    }


def blueprints(graph: Graph, config: StreamsConfig) -> tuple[TaskBlueprint, ...]:
    """One blueprint for each sub-topology, ordered so that each comes after those that feed it."""
    defaults = Defaults.of(config)
    ordered: list[TaskBlueprint] = []
    counted: set[str] = set()
    for sub in stages(graph):
        first_read_here = frozenset(sub.global_topics) - counted
        ordered.append(TaskBlueprint(graph, sub, defaults, config.application_id, first_read_here))
        counted.update(sub.global_topics)
    return tuple(ordered)
