"""Maps every kind of node to the operator that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core import operators as ops
from headrace._core.operator import Operator
from headrace._core.time.idle_keys import IdleSettings
from headrace._core.time.join_clock import ClockSettings
from headrace._graph import nodes
from headrace._runtime.defaults import Defaults
from headrace.errors import TopologyError
from headrace.model.stores.specs import VersionedSpec
from headrace.model.time.windows import SessionWindows, SlidingWindows, Windows
from headrace.serdes.topics import for_topic


def operator_for(node: nodes.Node, defaults: Defaults) -> Operator:
    """Creates the operator of a node; the caller connects and initialises it."""
    try:
        create = _OPERATORS[type(node)]
    except KeyError:
        message = f"Node {node.name!r} of kind {type(node).__name__} has no operator: register one in _OPERATORS."
        raise TopologyError(message) from None
    return create(node, defaults)


def _table_source(node: nodes.TableSource) -> Operator:
    if isinstance(node.store_when_needed, VersionedSpec):
        return ops.VersionedTableSource(node.name, node.stores[0], send_old_values=node.send_old_values)
    return ops.TableSource(node.name, _own_store(node), send_old_values=_knows_old(node))


def _windowed_aggregate(node: nodes.WindowedAggregate) -> Operator:
    settings = ops.WindowSettings(
        store=node.stores[0],
        stream_times=nodes.STREAM_TIMES,
        key_times=_key_times(node, node.name),
        open_windows=nodes.open_windows(node.name) if node.emit_on_close else None,
        late_sink=node.late_sink,
        idle=_idle(node.idle_ms, node.name, node.sharing),
        send_old_values=_knows_old(node),
        cached=node.cached,
    )
    fold = _fold(node.fold)
    match node.windows:
        case SessionWindows() as windows:
            return ops.SessionWindowAggregate(node.name, settings, windows, fold)
        case SlidingWindows() as windows:
            return ops.SlidingWindowAggregate(node.name, settings, windows, fold)
        case Windows() as windows:
            return ops.OwnWindowAggregate(node.name, settings, windows, fold)
        case windows:
            kind = ops.TimeWindowCount if isinstance(node.fold, nodes.CountFold) else ops.TimeWindowAggregate
            return kind(node.name, settings, windows, fold)


def _fold(fold: nodes.CountFold | nodes.ReduceFold | nodes.AggregateFold) -> ops.Fold:
    match fold:
        case nodes.CountFold():
            return ops.counting()
        case nodes.ReduceFold():
            return ops.reducing(fold.reducer)
    return ops.Fold(fold.initializer, fold.aggregator, fold.merger)


def _key_times(node: nodes.Node, operator: str) -> str | None:
    times = nodes.stream_time_table(operator)
    return times if times in node.stores else None


def _idle(idle_ms: int | None, operator: str, sharing: tuple[str, ...] = ()) -> IdleSettings | None:
    """The idle-key settings of an operator; `None` if `idle_ms` is `None`.

    `sharing` names the operators that share its windows, as in a cogroup: a key is idle only if it is for all of them.
    """
    if idle_ms is None:
        return None
    return IdleSettings(idle_ms, nodes.idle_keys(operator), tuple(map(nodes.idle_keys, sharing)))


def _stream_join(node: nodes.StreamJoin) -> Operator:
    settings = ops.JoinSettings(
        window=node.window,
        other=node.stores[0],
        unmatched=node.unmatched,
        joiner=node.joiner,
        is_left=node.is_left,
        is_outer=node.is_outer,
        other_is_outer=node.other_is_outer,
        before_ms=node.before_ms,
        after_ms=node.after_ms,
        grace_ms=node.grace_ms,
        clock=ClockSettings(
            node.merge, nodes.STREAM_TIMES, _key_times(node, node.join), _idle(node.idle_ms, node.merge)
        ),
    )
    kind = ops.StreamJoin if node.unmatched is None else ops.StreamOuterJoin
    return kind(node.name, settings)


def _suppress(node: nodes.Suppress) -> Operator:
    settings = ops.SuppressSettings(
        store=node.stores[0],
        stream_times=nodes.STREAM_TIMES,
        key_times=_key_times(node, node.name),
        until_window_closes=node.until_window_closes,
        idle=_idle(node.idle_ms, node.name),
        wait_ms=node.wait_ms,
        buffer=node.buffer,
    )
    return ops.TableSuppress(node.name, settings)


def _stream_table_join(node: nodes.StreamTableJoin) -> Operator:
    (table,) = node.tables
    if node.grace_ms is None:
        return ops.StreamTableJoin(
            node.name,
            table,
            node.joiner,
            left=node.left,
            versioned=node.versioned,
            value_joiner=node.value_joiner,
        )
    return ops.StreamTableGraceJoin(
        node.name,
        table,
        node.joiner,
        left=node.left,
        grace_ms=node.grace_ms,
        store=node.stores[0],
        stream_times=nodes.STREAM_TIMES,
    )


def _knows_old(node: nodes.TableNode) -> bool:
    """Whether an operator puts old values into its changes: for its children, or for the record cache."""
    return node.send_old_values or node.cached


def _source(node: nodes.Source, defaults: Defaults) -> Operator:
    guard = None if node.internal or node.is_global else defaults.guard
    serdes = defaults.serdes(node)
    if node.internal:
        return ops.Source(node.name, *serdes, guard)
    if len(node.topics) == 1:
        return ops.Source(node.name, *for_topic(node.topics[0], *serdes), guard)
    return ops.Source(node.name, *serdes, guard, by_topic={topic: for_topic(topic, *serdes) for topic in node.topics})


def _sink(node: nodes.Sink, defaults: Defaults) -> Operator:
    serdes = defaults.serdes(node) if node.internal else for_topic(node.topic, *defaults.serdes(node))
    if node.partitioner is None and not any(serde.uses_headers for serde in serdes):
        return ops.Sink(node.name, node.topic, *serdes, internal=node.internal)
    return ops.RoutedSink(node.name, node.topic, *serdes, node.partitioner, internal=node.internal)


def _own_store(node: nodes.Node) -> str | None:
    return node.stores[0] if node.stores else None


_OPERATORS: dict[type[nodes.Node], Callable[[Any, Defaults], Operator]] = {
    nodes.Source: lambda node, defaults: _source(node, defaults),
    nodes.Sink: lambda node, defaults: _sink(node, defaults),
    nodes.DynamicSink: lambda node, defaults: ops.RoutedSink(
        node.name, node.topic_of, *defaults.serdes(node), node.partitioner, internal=False
    ),
    nodes.Filter: lambda node, _: ops.StreamFilter(node.name, node.predicate, keep=node.keep),
    nodes.NullKeyFilter: lambda node, _: ops.NullKeyFilter(node.name),
    nodes.Map: lambda node, _: ops.StreamMap(node.name, node.mapper),
    nodes.MapValues: lambda node, _: ops.StreamMapValues(node.name, node.mapper),
    nodes.MapValuesWithKey: lambda node, _: ops.StreamMapValuesWithKey(node.name, node.mapper),
    nodes.FlatMap: lambda node, _: ops.StreamFlatMap(node.name, node.mapper),
    nodes.FlatMapValues: lambda node, _: ops.StreamFlatMapValues(node.name, node.mapper),
    nodes.FlatMapValuesWithKey: lambda node, _: ops.StreamFlatMapValuesWithKey(node.name, node.mapper),
    nodes.SelectKey: lambda node, _: ops.StreamSelectKey(node.name, node.selector),
    nodes.Peek: lambda node, _: ops.StreamPeek(node.name, node.action),
    nodes.ForEach: lambda node, _: ops.StreamForEach(node.name, node.action),
    nodes.Print: lambda node, _: ops.StreamPrint(node.name, node.label, node.mapper, node.file),
    nodes.Branch: lambda node, _: ops.StreamBranch(node.name, node.predicates),
    nodes.PassThrough: lambda node, _: ops.PassThrough(node.name),
    nodes.JoinWindow: lambda node, _: ops.StreamJoinWindow(node.name, node.stores[0]),
    nodes.StreamJoin: lambda node, _: _stream_join(node),
    nodes.StreamCount: lambda node, _: ops.StreamCount(
        node.name, node.stores[0], ops.counting(), send_old_values=_knows_old(node)
    ),
    nodes.StreamAggregate: lambda node, _: ops.StreamAggregate(
        node.name, node.stores[0], ops.Fold(node.initializer, node.aggregator), send_old_values=_knows_old(node)
    ),
    nodes.StreamReduce: lambda node, _: ops.StreamAggregate(
        node.name, node.stores[0], ops.reducing(node.reducer), send_old_values=_knows_old(node)
    ),
    nodes.CogroupMerge: lambda node, _: ops.PassThrough(node.name),
    nodes.WindowedAggregate: lambda node, _: _windowed_aggregate(node),
    nodes.TableSource: lambda node, _: _table_source(node),
    nodes.TableFilter: lambda node, _: ops.TableFilter(
        node.name,
        _own_store(node),
        node.predicate,
        keep=node.keep,
        send_old_values=_knows_old(node),
        versioned=node.versioned,
    ),
    nodes.TableMapValues: lambda node, _: ops.TableMapValues(
        node.name, _own_store(node), node.mapper, send_old_values=_knows_old(node)
    ),
    nodes.TableTransformValues: lambda node, _: ops.TableTransformValues(
        node.name, node.rows, node.factory, node.stores, node.global_stores, send_old_values=node.send_old_values
    ),
    nodes.Suppress: lambda node, _: _suppress(node),
    nodes.TableGroupBy: lambda node, defaults: ops.TableGroupBy(
        node.name, node.selector, node.key_serde or defaults.key_serde, single_event=defaults.single_event
    ),
    nodes.TableCount: lambda node, _: ops.TableAggregate(
        node.name, node.stores[0], ops.counting(), ops.one_less, send_old_values=_knows_old(node)
    ),
    nodes.TableAggregate: lambda node, _: ops.TableAggregate(
        node.name,
        node.stores[0],
        ops.Fold(node.initializer, node.adder),
        node.subtractor,
        send_old_values=_knows_old(node),
    ),
    nodes.TableReduce: lambda node, _: ops.TableAggregate(
        node.name,
        node.stores[0],
        ops.reducing(node.adder),
        ops.subtracting(node.subtractor),
        send_old_values=_knows_old(node),
    ),
    nodes.TableJoin: lambda node, _: ops.TableJoin(
        node.name,
        node.tables[0],
        node.joiner,
        ops.TableSide(node.is_left, node.optional, node.other_optional),
        send_old_values=node.send_old_values,
    ),
    nodes.TableJoinMerge: lambda node, _: ops.TableJoinMerge(node.name, _own_store(node), reads_old_values=node.cached),
    nodes.StreamTableJoin: lambda node, _: _stream_table_join(node),
    nodes.ForeignKeySubscribe: lambda node, defaults: ops.ForeignKeySubscribe(
        node.name,
        node.foreign_key,
        *defaults.serdes(node),
        defaults.resolve_key(node.foreign_serde),
        left=node.left,
    ),
    nodes.ForeignKeyReceive: lambda node, defaults: ops.ForeignKeyReceive(
        node.name, node.stores[0], defaults.resolve_key(node.foreign_serde)
    ),
    nodes.ForeignKeyAnswer: lambda node, defaults: ops.ForeignKeyAnswer(
        node.name,
        node.tables[0],
        defaults.resolve_key(node.key_serde),
        defaults.resolve_value(node.foreign_value_serde),
    ),
    nodes.ForeignKeyChange: lambda node, defaults: ops.ForeignKeyChange(
        node.name,
        node.stores[0],
        defaults.resolve_key(node.key_serde),
        defaults.resolve_key(node.foreign_serde),
        defaults.resolve_value(node.foreign_value_serde),
    ),
    nodes.ForeignKeyLeftRows: lambda node, defaults: ops.ForeignKeyLeftRows(
        node.name, node.resolve, *defaults.serdes(node)
    ),
    nodes.ForeignKeyResolve: lambda node, defaults: ops.ForeignKeyResolve(
        node.name,
        node.joiner,
        *defaults.serdes(node),
        defaults.resolve_value(node.foreign_value_serde),
        left=node.left,
        foreign_key=node.foreign_key,
        left_table=node.tables[0] if node.tables else None,
    ),
    nodes.StreamForeignKeySelect: lambda node, defaults: ops.StreamForeignKeySelect(
        node.name,
        node.foreign_key,
        *defaults.serdes(node),
        left=node.left,
    ),
    nodes.StreamForeignKeyJoin: lambda node, defaults: ops.StreamForeignKeyJoin(
        node.name,
        node.tables[0],
        node.joiner,
        *defaults.serdes(node),
        left=node.left,
        versioned=node.versioned,
    ),
    nodes.TableCopy: lambda node, _: ops.TableCopy(node.name, node.tables[0]),
    nodes.HandOver: lambda node, _: ops.HandOver(node.name, node.number, every_update=node.every_update),
    nodes.TakeOver: lambda node, _: ops.TakeOver(node.name, node.number),
    nodes.StreamGlobalJoin: lambda node, _: ops.StreamGlobalJoin(
        node.name, node.global_stores[0], node.key_selector, node.joiner, left=node.left
    ),
    nodes.Process: lambda node, _: ops.UserProcessor(
        node.name,
        node.factory,
        [store for store in node.stores if store not in node.read_only],
        (*node.global_stores, *node.read_only),
        fixed_key=node.fixed_key,
        is_global=node.is_global,
    ),
    nodes.TableToStream: lambda node, _: ops.TableToStream(node.name),
}
