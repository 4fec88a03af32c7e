"""Which paths through a task have a batch form: those of which every operator, from source to sinks, has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from headrace._core import operators as ops
from headrace._core.columnar.aggregations.count import CountForm
from headrace._core.columnar.aggregations.tables import TableGroupByForm
from headrace._core.columnar.batch import Batch
from headrace._core.columnar.joins.stream_table import StreamTableJoinForm
from headrace._core.columnar.layout import Form, Layout, Reached, TaskStores, kept_as_they_came
from headrace._core.columnar.stateless.chains import Chains
from headrace._core.columnar.stateless.functions import FunctionsForm
from headrace._core.columnar.tables.store import TableStoreForm
from headrace._core.columnar.windows.count import WindowCountForm
from headrace._core.columnar.windows.suppress import WindowCloseForm
from headrace._core.operator import Operator
from headrace._core.operators.aggregations.streams import Aggregation
from headrace._core.operators.functions import FunctionOperator
from headrace._state.stores.key_value import TimestampedKeyValueStore
from headrace.model.windows import TimeWindows
from headrace.serdes import Long, Windowed


class SourceForm(NamedTuple):
    """The batch form of what follows a source; if it `decodes`, it finds out itself what cannot be decoded."""

    run: Form
    decodes: bool


def columnar_forms(sources: Mapping[str, ops.Source], kept: TaskStores) -> dict[str, SourceForm]:
    """The batch form of what follows each topic's source, where there is one."""
    forms: dict[str, SourceForm] = {}
    for topic, source in sources.items():
        if not source.children:
            continue
        form = _children(source, Layout(source.key_serde, source.value_serde), kept, Reached())
        if form is None or _sees_itself(source, kept):
            continue
        decodes = isinstance(form, FunctionsForm)
        forms[topic] = SourceForm(form.first if isinstance(form, FunctionsForm) else form, decodes)
    return forms


def _sees_itself(source: Operator, kept: TaskStores) -> bool:
    """Whether rows are looked up that the same records change: each would have to see those before it, and no more."""
    behind = _behind(source)
    looked_up = [kept.tables[join.table_name] for join in behind if isinstance(join, ops.StreamTableJoin)]
    changed = [
        kept.stores[writer.store_name]
        for writer in behind
        if isinstance(writer, ops.TableSource | Aggregation) and writer.store_name is not None
    ]
    return any(rows is store for rows in looked_up for store in changed)


def _behind(source: Operator) -> list[Operator]:
    """A source and all that get records from it."""
    behind = [source]
    for operator in behind:
        behind += operator.children
    return behind


def _children(operator: Operator, layout: Layout, kept: TaskStores, reached: Reached) -> Form | None:
    children = _takers(operator, reached)
    if children is None:
        return None
    functions = [child for child in children if _takes_values(child, layout)]
    others = [child for child in children if child not in functions]
    if not _apart(functions, others, layout):
        return None
    found = [_form(child, layout, kept, reached) for child in others]
    if functions:
        found.append(_functions(functions, layout, kept, reached))
    forms = [form for form in found if form is not None]
    if len(forms) < len(found):
        return None
    if len(forms) == 1:
        return forms[0]

    def all_of_them(batch: Batch) -> None:
        for form in forms:
            form(batch)

    return all_of_them


def _takers(operator: Operator, reached: Reached) -> list[Operator] | None:
    """Who gets what an operator forwards, past those that only pass it on; `None` if two ways lead to one of these."""
    takers: list[Operator] = []
    for child in operator.children:
        if not isinstance(child, ops.PassThrough | ops.TableToStream):
            takers.append(child)
            continue
        behind = _takers(child, reached) if reached.first(child.name) else None
        if behind is None:
            return None
        takers += behind
    return takers


def _apart(functions: Sequence[Operator], others: Sequence[Operator], layout: Layout) -> bool:
    """Whether it does not matter that siblings get the same records one sibling after another, each decoding its own.

    User functions could change a value that other functions get or that is stored; and they are called in order.
    """
    calling = [other for other in others if isinstance(other, ops.StreamTableJoin) or _is_grouped(other)]
    storing = [other for other in others if isinstance(other, ops.TableSource) and not _is_grouped(other)]
    if len(calling) + bool(functions) > 1:
        return False
    return not (calling or functions) or not storing or layout.value_serde.plain is not None


def _is_grouped(operator: Operator) -> bool:
    return isinstance(operator, ops.TableSource) and bool(operator.children)


def _takes_values(operator: Operator, layout: Layout) -> bool:
    """Whether an operator needs keys and values themselves, not their bytes."""
    match operator:
        case ops.Sink():
            return not _written_alike(operator, layout)
        case ops.PassThrough() | ops.StreamCount():
            return False
    return isinstance(operator, FunctionOperator | Aggregation)


def _functions(operators: Sequence[Operator], layout: Layout, kept: TaskStores, reached: Reached) -> Form | None:
    """One form for functions that get the same records, so that each record goes all ways before the next."""
    if layout.as_written or not kept.calls:
        return None
    chains = Chains(layout.key_serde, kept, reached, _form)
    take = chains.of_all(operators)
    if take is None:
        return None
    return FunctionsForm(layout.key_serde, layout.value_serde, chains.cursor, take, chains.folds, chains.ends)


def _form(operator: Operator, layout: Layout, kept: TaskStores, reached: Reached) -> Form | None:
    if not reached.first(operator.name):
        return None
    match operator:
        case ops.StreamCount():
            return _count(operator, layout, kept, reached)
        case ops.TimeWindowCount():
            return _window_count(operator, layout, kept, reached)
        case ops.TableSource():
            return _table(operator, layout, kept, reached)
        case ops.StreamTableJoin() if kept.calls:
            return _joined(operator, layout, kept, reached)
        case ops.TableSuppress():
            return _final_counts(operator, layout, kept, reached)
        case ops.Sink() if _written_alike(operator, layout):
            return _sent(operator, reached)
    return None


def _count(operator: ops.StreamCount, layout: Layout, kept: TaskStores, reached: Reached) -> Form | None:
    forward = _children(operator, Layout(layout.key_serde, Long()), kept, reached)
    store = kept.stores[operator.store_name]
    if forward is None or not layout.key_serde.canonical or layout.key_serde != store.key_serde:
        return None
    return CountForm(operator, store.contents, forward)


def _window_count(operator: ops.TimeWindowCount, layout: Layout, kept: TaskStores, reached: Reached) -> Form | None:
    windows, settings = operator.windows, operator.settings
    store = kept.stores[settings.store]
    if not isinstance(windows, TimeWindows) or windows.advance_ms < windows.size_ms:
        return None
    if settings.late_sink or settings.open_windows or settings.idle:
        return None
    if not layout.key_serde.canonical or layout.key_serde != store.key_serde:
        return None
    counted = Layout(Windowed(layout.key_serde, windows.size_ms), Long(), windows)
    forward = _children(operator, counted, kept, reached)
    return None if forward is None else WindowCountForm(operator, windows, store, forward)


def _final_counts(operator: ops.TableSuppress, layout: Layout, kept: TaskStores, reached: Reached) -> Form | None:
    settings, buffer = operator.settings, kept.stores[operator.settings.store]
    if layout.tumbling is None or not settings.until_window_closes or settings.buffer.is_limited:
        return None
    if (layout.key_serde, layout.value_serde) != (buffer.key_serde, buffer.value_serde):
        return None
    forward = _children(operator, layout, kept, reached)
    return None if forward is None else WindowCloseForm(operator, buffer, layout.tumbling.size_ms, forward)


def _table(operator: ops.TableSource, layout: Layout, kept: TaskStores, reached: Reached) -> Form | None:
    store = None if operator.store_name is None else kept.stores[operator.store_name]
    if store is None or not layout.key_serde.canonical:
        return None
    if (layout.key_serde, layout.value_serde) != (store.key_serde, store.value_serde):
        return None
    if not kept_as_they_came(layout.value_serde):
        return None
    if not operator.children:
        return TableStoreForm(operator, store)
    return _grouped_table(operator, store, reached) if kept.calls else None


def _joined(operator: ops.StreamTableJoin, layout: Layout, kept: TaskStores, reached: Reached) -> Form | None:
    """A join whose results are only written, once: the joiner then sees records in order."""
    match operator.children:
        case (ops.Sink() as sink,):
            pass
        case _:
            return None
    rows = kept.tables[operator.table_name]
    if type(operator) is not ops.StreamTableJoin or not isinstance(rows, TimestampedKeyValueStore):
        return None
    same_keys = layout.key_serde == rows.key_serde == sink.key_serde
    if not same_keys or not layout.key_serde.canonical:
        return None
    send = _sent(sink, reached)
    return None if send is None else StreamTableJoinForm(operator, rows, layout.value_serde, sink, send)


def _grouped_table(operator: ops.TableSource, store: Any, reached: Reached) -> Form | None:
    """A table that is only grouped, and only once: user functions then see its changes in order."""
    match operator.children:
        case (ops.TableGroupBy(children=(ops.Sink() as sink,)) as group_by,) if operator.send_old_values:
            send = _sent(sink, reached)
            return None if send is None else TableGroupByForm(operator, group_by, sink, store, send)
    return None


def _sent(sink: ops.Sink, reached: Reached) -> Form | None:
    """Writes to the topic of a sink, if no other way leads to it."""
    return partial(_send, sink) if reached.first(f"topic {sink.topic}") else None


def _send(sink: ops.Sink, batch: Batch) -> None:
    sink.context.collector.send_batch(sink.topic, batch)


def _written_alike(sink: ops.Sink, layout: Layout) -> bool:
    """Whether a sink would write the very bytes that a batch holds."""
    if (layout.key_serde, layout.value_serde) != (sink.key_serde, sink.value_serde):
        return False
    return layout.as_written or (layout.key_serde.canonical and layout.value_serde.canonical)
