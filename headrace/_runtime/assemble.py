"""From nodes to running tasks: the only place that knows which operator gives a node its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from headrace._core import operators as ops
from headrace._core.columnar.compile import columnar_forms
from headrace._core.context import Collector, TaskContext
from headrace._core.idle_keys import IdleSettings
from headrace._core.metrics import Metrics
from headrace._core.operator import Operator
from headrace._core.operators.source import Source
from headrace._core.processors import Processors, Revive
from headrace._core.task import Task
from headrace._graph import nodes
from headrace._graph.graph import Graph, SubTopology
from headrace._graph.stages import stages
from headrace._graph.stores import Store, Versioned
from headrace._runtime.stores import known_store, make_store, make_view
from headrace._state.api import ByteReader, ByteStore
from headrace.config import StreamsConfig
from headrace.errors import TopologyError
from headrace.serdes import Json, Serde, String
from headrace.timestamps import Extractor, fail_on_invalid_timestamp
from headrace.windowing import SessionWindows, SlidingWindows

PARTITION_TIMES = "$partition-times"
TASK = "$task"


@dataclass(frozen=True)
class Defaults:
    """What the configuration decides: serdes and extractor for nodes that name none, what sources refuse, and more."""

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    extractor: Extractor
    single_event: bool
    guard: ops.TimestampGuard | None

    @classmethod
    def of(cls, config: StreamsConfig) -> Defaults:
        return cls(
            config.default_key_serde or String(),
            config.default_value_serde or Json(),
            config.default_timestamp_extractor,
            single_event=not config.writes_old_change_events,
            guard=_guard(config),
        )

    def serdes(self, node: nodes.Source | nodes.Sink | Store) -> tuple[Serde[Any], Serde[Any]]:
        keys, values = self.key_serde, self.value_serde
        return (node.key_serde or keys).with_default(keys), (node.value_serde or values).with_default(values)

    def view(self, graph: Graph, name: str, parts: Sequence[ByteReader]) -> Any:
        """What a query sees of a store of which the tasks hold these parts."""
        store = known_store(graph, name)
        return make_view(store, parts, self.serdes(store))


@dataclass(frozen=True)
class TaskBlueprint:
    """Everything needed to make the tasks of one sub-topology, on any machine."""

    graph: Graph
    sub: SubTopology
    defaults: Defaults
    application_id: str

    @property
    def has_processors(self) -> bool:
        """Whether there are processors of the user's: its tasks then live on from record to record, with clocks."""
        return bool(self.sub.of_type(nodes.Process))

    @property
    def ticks(self) -> bool:
        """Whether its tasks have something to do by the wall clock: they then run in every batch."""
        return self.has_processors or any(
            isinstance(node, nodes.WindowedAggregate | nodes.Suppress) and node.idle_ms is not None
            for node in self.sub.nodes
        )

    @property
    def extractors(self) -> dict[str, Extractor]:
        """Extractors that are more than the record's own timestamp, by topic."""
        found: dict[str, Extractor] = {}
        for source in self.sub.sources:
            extractor = source.timestamp_extractor or self.defaults.extractor
            if not source.internal and extractor is not fail_on_invalid_timestamp:
                found.update(dict.fromkeys(source.topics, extractor))
        return found

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
        revive: Revive | None = None,
    ) -> Task:
        """A task on these stores; `columnar=False` keeps it on the record path throughout.

        `system_time_ms` and `revive` matter to tasks with processors: what the clock shows as they begin, and the
        life they take up instead.
        """
        typed = self._typed(stores, self.sub.stores) | {name: stores[name] for name in self.internal_stores}
        context = self._context(partition, collector, typed, metrics, places, system_time_ms)
        built = {node.name: self._operator(node) for node in self.sub.nodes}
        for name, operator in built.items():
            operator.connect([built[child] for child in self.sub.children[name]])
        sources: dict[str, Source] = {}
        for node in self.sub.sources:
            operator = built[node.name]
            assert isinstance(operator, Source)
            sources.update(dict.fromkeys(node.topics, operator))
        times = stores.get(PARTITION_TIMES)
        forms = columnar_forms(sources, typed) if columnar and not self.has_processors else {}
        processors: Callable[[], Processors] | None = None
        if self.has_processors:
            users = [operator for operator in built.values() if isinstance(operator, ops.UserProcessor)]
            processors = partial(Processors, context, users, stores[TASK], revive)
        return Task(context, list(built.values()), sources, forms, self.extractors, times, processors)

    def operator_on(self, node: nodes.Node, partition: int, stores: Mapping[str, ByteStore]) -> Operator:
        """One operator by itself on the stores of a task: to be asked about them, not to be run."""
        typed = self._typed(stores, node.stores) | {name: stores[name] for name in node.internal_stores}
        operator = self._operator(node)
        operator.init(self._context(partition, _Nowhere(), typed, Metrics(), ()))
        return operator

    def _typed(self, stores: Mapping[str, ByteStore], names: Sequence[str]) -> dict[str, Any]:
        specs = [self.graph.stores[name] for name in names]
        return {spec.name: make_store(spec, stores[spec.name], self.defaults.serdes(spec)) for spec in specs}

    def _context(
        self,
        partition: int,
        collector: Collector,
        stores: Mapping[str, Any],
        metrics: Metrics,
        places: Sequence[tuple[str, int]],
        system_time_ms: int = 0,
    ) -> TaskContext:
        return TaskContext(
            f"{self.sub.number}_{partition}",
            self.application_id,
            collector,
            stores,
            self.graph.stores.keys(),
            metrics,
            places,
            system_time_ms,
        )

    def _operator(self, node: nodes.Node) -> Operator:
        try:
            make = _OPERATORS[type(node)]
        except KeyError:
            message = f"Node {node.name!r} of kind {type(node).__name__} has no operator."
            raise TopologyError(message) from None
        return make(node, self.defaults)


def _guard(config: StreamsConfig) -> ops.TimestampGuard | None:
    ahead = config.max_timestamp_ahead
    if ahead is None:
        return None
    return ops.TimestampGuard(ahead // timedelta(milliseconds=1), config.timestamp_ahead_handler)


class _Nowhere:
    """The collector of operators that are not run."""

    def send(self, topic: str, *_: object) -> None:
        message = f"Nothing is written to {topic!r} by an operator that is only asked."
        raise AssertionError(message)

    send_batch = send


def _table_source(node: nodes.TableSource) -> Operator:
    if isinstance(node.store_when_needed, Versioned):
        return ops.VersionedTableSource(node.name, node.stores[0], send_old_values=node.send_old_values)
    return ops.TableSource(node.name, _own_store(node), send_old_values=node.send_old_values)


def _windowed_aggregate(node: nodes.WindowedAggregate) -> Operator:
    settings = ops.WindowSettings(
        store=node.stores[0],
        stream_times=nodes.STREAM_TIMES,
        key_times=_key_times(node),
        open_windows=nodes.open_windows(node.name) if node.emit_on_close else None,
        late_sink=node.late_sink,
        idle=_idle(node),
        send_old_values=node.send_old_values,
    )
    match node.windows:
        case SessionWindows() as windows:
            assert node.merger is not None
            return ops.SessionWindowAggregate(
                node.name, settings, windows, node.initializer, node.aggregator, node.merger
            )
        case SlidingWindows() as windows:
            return ops.SlidingWindowAggregate(node.name, settings, windows, node.initializer, node.aggregator)
        case windows:
            kind = ops.TimeWindowCount if node.counts else ops.TimeWindowAggregate
            return kind(node.name, settings, windows, node.initializer, node.aggregator)


def _key_times(node: nodes.Node) -> str | None:
    times = nodes.stream_time_table(node.name)
    return times if times in node.stores else None


def _idle(node: nodes.WindowedAggregate | nodes.Suppress) -> IdleSettings | None:
    return None if node.idle_ms is None else IdleSettings(node.idle_ms, nodes.idle_keys(node.name))


def _suppress(node: nodes.Suppress) -> Operator:
    settings = ops.SuppressSettings(
        store=node.stores[0],
        stream_times=nodes.STREAM_TIMES,
        key_times=_key_times(node),
        until_window_closes=node.until_window_closes,
        idle=_idle(node),
        wait_ms=node.wait_ms,
        buffer=node.buffer,
    )
    return ops.TableSuppress(node.name, settings)


def _own_store(node: nodes.Node) -> str | None:
    return node.stores[0] if node.stores else None


_OPERATORS: dict[type[nodes.Node], Callable[[Any, Defaults], Operator]] = {
    nodes.Source: lambda node, defaults: ops.Source(
        node.name, *defaults.serdes(node), None if node.internal else defaults.guard, node.dead_letters
    ),
    nodes.Sink: lambda node, defaults: ops.Sink(node.name, node.topic, *defaults.serdes(node)),
    nodes.Filter: lambda node, _: ops.StreamFilter(node.name, node.predicate, keep=node.keep),
    nodes.NullKeyFilter: lambda node, _: ops.NullKeyFilter(node.name),
    nodes.Map: lambda node, _: ops.StreamMap(node.name, node.mapper),
    nodes.MapValues: lambda node, _: ops.StreamMapValues(node.name, node.mapper),
    nodes.MapValuesWithKey: lambda node, _: ops.StreamMapValuesWithKey(node.name, node.mapper),
    nodes.FlatMap: lambda node, _: ops.StreamFlatMap(node.name, node.mapper),
    nodes.FlatMapValues: lambda node, _: ops.StreamFlatMapValues(node.name, node.mapper),
    nodes.SelectKey: lambda node, _: ops.StreamSelectKey(node.name, node.selector),
    nodes.Peek: lambda node, _: ops.StreamPeek(node.name, node.action),
    nodes.ForEach: lambda node, _: ops.StreamForEach(node.name, node.action),
    nodes.Print: lambda node, _: ops.StreamPrint(node.name, node.label),
    nodes.Branch: lambda node, _: ops.StreamBranch(node.name, node.predicates),
    nodes.PassThrough: lambda node, _: ops.PassThrough(node.name),
    nodes.StreamCount: lambda node, _: ops.StreamCount(node.name, node.stores[0], send_old_values=node.send_old_values),
    nodes.StreamAggregate: lambda node, _: ops.StreamAggregate(
        node.name, node.stores[0], node.initializer, node.aggregator, send_old_values=node.send_old_values
    ),
    nodes.StreamReduce: lambda node, _: ops.StreamReduce(
        node.name, node.stores[0], node.reducer, send_old_values=node.send_old_values
    ),
    nodes.WindowedAggregate: lambda node, _: _windowed_aggregate(node),
    nodes.TableSource: lambda node, _: _table_source(node),
    nodes.TableFilter: lambda node, _: ops.TableFilter(
        node.name,
        _own_store(node),
        node.predicate,
        keep=node.keep,
        send_old_values=node.send_old_values,
        versioned=node.versioned,
    ),
    nodes.TableMapValues: lambda node, _: ops.TableMapValues(
        node.name, _own_store(node), node.mapper, send_old_values=node.send_old_values
    ),
    nodes.Suppress: lambda node, _: _suppress(node),
    nodes.TableGroupBy: lambda node, defaults: ops.TableGroupBy(
        node.name, node.selector, node.key_serde or defaults.key_serde, single_event=defaults.single_event
    ),
    nodes.TableAggregate: lambda node, _: ops.TableAggregate(
        node.name,
        node.stores[0],
        node.initializer,
        node.adder,
        node.subtractor,
        send_old_values=node.send_old_values,
    ),
    nodes.TableReduce: lambda node, _: ops.TableReduce(
        node.name, node.stores[0], node.adder, node.subtractor, send_old_values=node.send_old_values
    ),
    nodes.Process: lambda node, _: ops.UserProcessor(node.name, node.factory, node.stores, fixed_key=node.fixed_key),
    nodes.TableToStream: lambda node, _: ops.TableToStream(node.name),
}


def blueprints(graph: Graph, config: StreamsConfig) -> tuple[TaskBlueprint, ...]:
    """One per sub-topology, each after all that feed it."""
    defaults = Defaults.of(config)
    return tuple(TaskBlueprint(graph, sub, defaults, config.application_id) for sub in stages(graph))
