"""Builds the batch form of everything downstream of a source, if each operator from there to the sinks has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from headrace._core import operators as ops
from headrace._core.columnar.aggregations.count import CountForm
from headrace._core.columnar.aggregations.tables import TableGroupByForm
from headrace._core.columnar.batch import Batch
from headrace._core.columnar.caching import CachedCounts
from headrace._core.columnar.joins.stream_table import StreamTableJoinForm
from headrace._core.columnar.layout import Form, Layout, TaskStores, can_store_input_bytes
from headrace._core.columnar.stateless.chains import FunctionChain
from headrace._core.columnar.stateless.functions import FunctionsForm
from headrace._core.columnar.tables.store import TableStoreForm
from headrace._core.columnar.windows.count import WindowCountForm
from headrace._core.columnar.windows.suppress import WindowCloseForm
from headrace._core.operator import Operator
from headrace._core.operators.aggregations.streams import AggregatingOperator
from headrace._core.operators.functions import FunctionOperator
from headrace._state.stores.key_value import TypedTimestampedKeyValueStore
from headrace.model.time.windows import TimeWindows
from headrace.serdes import Long, Serde, WindowedKey


class SourceForm(NamedTuple):
    """The batch form of everything downstream of a source.

    If `decodes` is true, the form itself raises an `UndecodableError` for a batch that has undecodable records.
    """

    run: Form
    decodes: bool


def columnar_forms(sources: Mapping[str, ops.Source], stores: TaskStores) -> dict[str, SourceForm]:
    """The batch forms of a task by source topic; topics without one stay on the record path."""
    compiler = FormCompiler(stores)
    compiled = {topic: compiler.compile(source) for topic, source in sources.items()}
    return {topic: form for topic, form in compiled.items() if form is not None}


class FormCompiler:
    """Composes the batch forms of one task's operators.

    A source has a batch form only if all operators downstream of it have one, and if nobody can observe that each of
    them handles a whole batch before its children do: on the record path, everything that follows from a record happens
    before the next record. Every `return None` below stands for a case where the difference would show.
    """

    def __init__(self, stores: TaskStores) -> None:
        self._stores = stores

    def compile(self, source: ops.Source) -> SourceForm | None:
        """The batch form of everything downstream of a source, or `None` if there is none."""
        downstream = _downstream(source)
        if not source.children or downstream is None:
            return None
        form = self._children(source, Layout(source.key_serde, source.value_serde))
        if form is None or self._reads_own_writes(downstream):
            return None
        if isinstance(form, FunctionsForm):
            return SourceForm(form.run_undecoded, decodes=True)
        return SourceForm(form, decodes=False)

    def _reads_own_writes(self, operators: Sequence[Operator]) -> bool:
        """Whether a join looks up a table that the same batch changes.

        It then has no batch form, because each record must see the changes before it and none after.
        """
        read = [self._stores.tables[join.table_name] for join in operators if isinstance(join, ops.StreamTableJoin)]
        written = [
            self._stores.stores[writer.store_name]
            for writer in operators
            if isinstance(writer, ops.TableSource | AggregatingOperator) and writer.store_name is not None
        ]
        return any(rows is store for rows in read for store in written)

    def _children(self, operator: Operator, layout: Layout) -> Form | None:
        """One form for everything that receives the records an operator forwards."""
        receivers = _receivers(operator)
        functions = [receiver for receiver in receivers if _needs_objects(receiver, layout)]
        others = [receiver for receiver in receivers if receiver not in functions]
        if not _are_independent(functions, others, layout):
            return None
        forms = [self._form(other, layout) for other in others]
        if functions:
            forms.append(self._functions(functions, layout))
        return _sequence(forms)

    def _functions(self, operators: Sequence[Operator], layout: Layout) -> Form | None:
        """One form for functions that get the same records: each record passes all of them before the next one."""
        if layout.as_written or not self._stores.allow_functions:
            return None
        chain = FunctionChain(layout.key_serde, self._stores.stores)
        take = chain.combine(operators)
        if take is None:
            return None
        for end in chain.ends:
            form = self._form(end.operator, end.layout)
            if form is None:
                return None
            end.form = form
        return FunctionsForm(layout.key_serde, layout.value_serde, chain.cursor, take, chain.aggregations, chain.ends)

    def _form(self, operator: Operator, layout: Layout) -> Form | None:
        match operator:
            case ops.StreamCount():
                return self._count(operator, layout)
            case ops.TimeWindowCount():
                return self._window_count(operator, layout)
            case ops.TableSource():
                return self._table(operator, layout)
            case ops.StreamTableJoin() if self._stores.allow_functions:
                return self._stream_table_join(operator, layout)
            case ops.TableSuppress():
                return self._suppress(operator, layout)
            case ops.Sink() if _writes_same_bytes(operator, layout):
                return _send_to(operator)
        return None

    def _count(self, operator: ops.StreamCount, layout: Layout) -> Form | None:
        store = self._stores.stores[operator.store_name]
        if not isinstance(store, TypedTimestampedKeyValueStore) or store.value_serde != Long():
            return None
        if not layout.key_serde.canonical or layout.key_serde != store.key_serde:
            return None
        forward = self._children(operator, Layout(layout.key_serde, Long()))
        if forward is None:
            return None
        return CountForm(operator, store.contents, forward, _cached_counts(operator, layout.key_serde, forward))

    def _window_count(self, operator: ops.TimeWindowCount, layout: Layout) -> Form | None:
        windows, settings = operator.windows, operator.settings
        store = self._stores.stores[settings.store]
        if not isinstance(windows, TimeWindows) or windows.advance_ms < windows.size_ms:
            return None
        if settings.late_sink or settings.open_windows or settings.idle or store.value_serde != Long():
            return None
        if not layout.key_serde.canonical or layout.key_serde != store.key_serde:
            return None
        key_serde = WindowedKey(layout.key_serde, windows.size_ms)
        counts = Layout(key_serde, Long(), windows, last_only=operator.cache is not None)
        forward = self._children(operator, counts)
        if forward is None:
            return None
        return WindowCountForm(operator, windows, store, forward, _cached_counts(operator, key_serde, forward))

    def _suppress(self, operator: ops.TableSuppress, layout: Layout) -> Form | None:
        """The form of `suppress()` until windows close, which exists only after counts in tumbling windows."""
        settings, buffer = operator.settings, self._stores.stores[operator.settings.store]
        if layout.tumbling is None or not settings.until_window_closes or settings.buffer.is_limited:
            return None
        if (layout.key_serde, layout.value_serde) != (buffer.key_serde, buffer.value_serde):
            return None
        forward = self._children(operator, layout)
        if forward is None:
            return None
        return WindowCloseForm(operator, buffer, layout.tumbling.size_ms, forward, last_only=layout.last_only)

    def _table(self, operator: ops.TableSource, layout: Layout) -> Form | None:
        store = None if operator.store_name is None else self._stores.stores[operator.store_name]
        if store is None or not layout.key_serde.canonical:
            return None
        if (layout.key_serde, layout.value_serde) != (store.key_serde, store.value_serde):
            return None
        if not can_store_input_bytes(layout.value_serde):
            return None
        if not operator.children:
            return TableStoreForm(operator, store)
        return _grouped_table(operator, store) if self._stores.allow_functions else None

    def _stream_table_join(self, operator: ops.StreamTableJoin, layout: Layout) -> Form | None:
        """The form of a join that feeds one sink and nothing else: no other user function runs between two records."""
        match operator.children:
            case (ops.Sink() as sink,):
                pass
            case _:
                return None
        rows = self._stores.tables[operator.table_name]
        if type(operator) is not ops.StreamTableJoin or not isinstance(rows, TypedTimestampedKeyValueStore):
            return None
        same_keys = layout.key_serde == rows.key_serde == sink.key_serde
        if not same_keys or not layout.key_serde.canonical:
            return None
        return StreamTableJoinForm(operator, rows, layout.value_serde, sink, _send_to(sink))


def _cached_counts(operator: Operator, key_serde: Serde[Any], forward: Form) -> CachedCounts | None:
    """The cache of a count; sources that feed the same count share it."""
    if operator.cache is None:
        return None
    if operator.cache.columns is None:
        operator.cache.columns = CachedCounts(operator.cache, key_serde, forward)
    assert isinstance(operator.cache.columns, CachedCounts)
    return operator.cache.columns


def _downstream(source: Operator) -> list[Operator] | None:
    """A source and everything downstream; `None` if two paths lead to the same operator or to the same topic.

    In these cases the record path interleaves the records of both paths, which forms for whole batches cannot do.
    """
    operators, seen = [source], {source.name}
    for operator in operators:
        for child in operator.children:
            names = {child.name, f"topic {child.topic}"} if isinstance(child, ops.Sink) else {child.name}
            if names & seen:
                return None
            seen |= names
            operators.append(child)
    return operators


def _receivers(operator: Operator) -> list[Operator]:
    """The operators that get an operator's records, without those in between that only forward records unchanged."""
    receivers: list[Operator] = []
    for child in operator.children:
        unchanged = isinstance(child, ops.PassThrough | ops.TableToStream)
        receivers += _receivers(child) if unchanged else [child]
    return receivers


def _are_independent(functions: Sequence[Operator], others: Sequence[Operator], layout: Layout) -> bool:
    """Whether siblings may handle a batch one after the other, each decoding it for itself.

    They may not if two of them call user functions, which must be called in the order of the records, or if a function
    could change a value in place that a sibling stores.
    """
    calling = [other for other in others if isinstance(other, ops.StreamTableJoin) or _is_grouped(other)]
    storing = [other for other in others if isinstance(other, ops.TableSource) and not _is_grouped(other)]
    if len(calling) + bool(functions) > 1:
        return False
    return not (calling or functions) or not storing or layout.value_serde.plain is not None


def _is_grouped(operator: Operator) -> bool:
    return isinstance(operator, ops.TableSource) and bool(operator.children)


def _needs_objects(operator: Operator, layout: Layout) -> bool:
    """Whether an operator needs decoded keys and values, not only their bytes."""
    match operator:
        case ops.Sink():
            return not _writes_same_bytes(operator, layout)
        case ops.PassThrough() | ops.StreamCount():
            return False
    return isinstance(operator, FunctionOperator | AggregatingOperator)


def _writes_same_bytes(sink: ops.Sink, layout: Layout) -> bool:
    """Whether a sink would write exactly the bytes that a batch holds."""
    if (layout.key_serde, layout.value_serde) != (sink.key_serde, sink.value_serde):
        return False
    return layout.as_written or (layout.key_serde.canonical and layout.value_serde.canonical)


def _grouped_table(operator: ops.TableSource, store: Any) -> Form | None:
    """The form of a table that feeds one `group_by` and nothing else: then the selector sees the changes in order."""
    match operator.children:
        case (ops.TableGroupBy(children=(ops.Sink() as sink,)) as group_by,) if operator.forwards_old_values:
            return TableGroupByForm(operator, group_by, sink, store, _send_to(sink))
    return None


def _sequence(forms: Sequence[Form | None]) -> Form | None:
    """A form that runs others one after the other; `None` if one of them is missing."""
    present = [form for form in forms if form is not None]
    if len(present) < len(forms):
        return None
    if len(present) == 1:
        return present[0]

    def run_all(batch: Batch) -> None:
        for form in present:
            form(batch)

    return run_all


def _send_to(sink: ops.Sink) -> Form:
    return partial(_send, sink)


def _send(sink: ops.Sink, batch: Batch) -> None:
    sink.context.collector.send_batch(sink.topic, batch)
