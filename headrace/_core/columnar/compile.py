"""Which paths through a task have a batch form: those of which every operator, from source to sinks, has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from headrace._core import operators as ops
from headrace._core.columnar.batch import Batch
from headrace._core.columnar.count import CountForm
from headrace._core.columnar.stream_table_join import StreamTableJoinForm
from headrace._core.columnar.table_aggregate import TableAggregateForm
from headrace._core.columnar.table_group_by import TableGroupByForm
from headrace._core.columnar.table_store import TableStoreForm
from headrace._core.columnar.window_close import WindowCloseForm
from headrace._core.columnar.window_count import WindowCountForm
from headrace._core.operator import Operator
from headrace._state.stores import TimestampedKeyValueStore
from headrace.serdes import Json, Long, Serde, Windowed
from headrace.windowing import TimeWindows

Form = Callable[[Batch], None]

_CALLING = (ops.StreamTableJoin, ops.TableGroupBy, ops.TableAggregate)  # functions of the user's, in their forms


class Stores(NamedTuple):
    """What a task keeps: its stores, and the rows of tables that are looked up, by name."""

    kept: Mapping[str, Any]
    tables: Mapping[str, Any]


class Layout(NamedTuple):
    """The serdes whose bytes a batch holds; `tumbling` if they are counts in such windows.

    Values as written by their serde need not be canonical: writing them again would give the same bytes.
    """

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    tumbling: TimeWindows | None = None
    values_as_written: bool = False


def columnar_forms(
    sources: Mapping[str, ops.Source], stores: Stores, *, user_functions: bool = True
) -> dict[str, Form]:
    """The batch form of what follows each topic's source, where there is one.

    Without `user_functions` only where none is called: an error handler drops single records, a batch form none.
    """
    forms: dict[str, Form] = {}
    for topic, source in sources.items():
        if not user_functions and any(isinstance(operator, _CALLING) for operator in _behind(source)):
            continue
        written: list[str] = []
        form = _children(source, Layout(source.key_serde, source.value_serde), stores, written)
        # Two ways to one topic interleave record by record, which batches cannot do.
        if (
            form is not None
            and source.children
            and len(set(written)) == len(written)
            and not _sees_itself(source, stores)
        ):
            forms[topic] = form
    return forms


def _sees_itself(source: Operator, stores: Stores) -> bool:
    """Whether rows are looked up that the same records change: each would have to see those before it, and no more."""
    behind = _behind(source)
    looked_up = [stores.tables[join.table_name] for join in behind if isinstance(join, ops.StreamTableJoin)]
    changed = [
        stores.kept[writer.store_name]
        for writer in behind
        if isinstance(writer, ops.TableSource | ops.StreamCount | ops.TableAggregate) and writer.store_name is not None
    ]
    return any(rows is store for rows in looked_up for store in changed)


def _behind(source: Operator) -> list[Operator]:
    """A source and all that get records from it."""
    behind = [source]
    for operator in behind:
        behind += operator.children
    return behind


def _children(operator: Operator, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    found = [_form(child, layout, stores, written) for child in operator.children]
    forms = [form for form in found if form is not None]
    if len(forms) < len(found):
        return None
    if len(forms) == 1:
        return forms[0]

    def all_of_them(batch: Batch) -> None:
        for form in forms:
            form(batch)

    return all_of_them


def _form(operator: Operator, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    match operator:
        case ops.PassThrough() | ops.TableToStream():
            return _children(operator, layout, stores, written)
        case ops.StreamCount():
            return _count(operator, layout, stores, written)
        case ops.TimeWindowCount():
            return _window_count(operator, layout, stores, written)
        case ops.TableSource():
            return _table(operator, layout, stores, written)
        case ops.StreamTableJoin():
            return _joined(operator, layout, stores, written)
        case ops.TableAggregate():
            return _table_aggregate(operator, layout, stores, written)
        case ops.TableSuppress():
            return _final_counts(operator, layout, stores, written)
        case ops.Sink():
            return _sink(operator, layout, written)
    return None


def _count(operator: ops.StreamCount, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    forward = _children(operator, Layout(layout.key_serde, Long()), stores, written)
    store = stores.kept[operator.store_name]
    if forward is None or not layout.key_serde.canonical or layout.key_serde != store.key_serde:
        return None
    return CountForm(operator, store.contents, forward)


def _window_count(operator: ops.TimeWindowCount, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    windows, settings = operator.windows, operator.settings
    store = stores.kept[settings.store]
    if not isinstance(windows, TimeWindows) or windows.advance_ms < windows.size_ms:
        return None
    if settings.late_sink or settings.open_windows or settings.idle:
        return None
    if not layout.key_serde.canonical or layout.key_serde != store.key_serde:
        return None
    counted = Layout(Windowed(layout.key_serde, windows.size_ms), Long(), windows)
    forward = _children(operator, counted, stores, written)
    return None if forward is None else WindowCountForm(operator, windows, store, forward)


def _final_counts(operator: ops.TableSuppress, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    settings, buffer = operator.settings, stores.kept[operator.settings.store]
    if layout.tumbling is None or not settings.until_window_closes or settings.buffer.is_limited:
        return None
    if (layout.key_serde, layout.value_serde) != (buffer.key_serde, buffer.value_serde):
        return None
    forward = _children(operator, layout, stores, written)
    return None if forward is None else WindowCloseForm(operator, buffer, layout.tumbling.size_ms, forward)


def _table(operator: ops.TableSource, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    store = None if operator.store_name is None else stores.kept[operator.store_name]
    if store is None or not layout.key_serde.canonical:
        return None
    if (layout.key_serde, layout.value_serde) != (store.key_serde, store.value_serde):
        return None
    # Rows are stored as they came; read again they must be what they would be had they been written anew.
    repeatable = isinstance(layout.value_serde, Json) and layout.value_serde.repeatable
    if not (layout.value_serde.canonical or repeatable):
        return None
    return _grouped_table(operator, store, written) if operator.children else TableStoreForm(operator, store)


def _joined(operator: ops.StreamTableJoin, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    """A join whose results are only written, once: the joiner then sees records in order."""
    match operator.children:
        case (ops.Sink() as sink,):
            pass
        case _:
            return None
    rows = stores.tables[operator.table_name]
    if type(operator) is not ops.StreamTableJoin or not isinstance(rows, TimestampedKeyValueStore):
        return None
    same_keys = layout.key_serde == rows.key_serde == sink.key_serde
    if not same_keys or not layout.key_serde.canonical:
        return None
    written.append(sink.topic)
    return StreamTableJoinForm(operator, rows, layout.value_serde, sink, partial(_send, sink))


def _grouped_table(operator: ops.TableSource, store: Any, written: list[str]) -> Form | None:
    """A table that is only grouped, and only once: user functions then see its changes in order."""
    match operator.children:
        case (ops.TableGroupBy(children=(ops.Sink() as sink,)) as group_by,) if operator.send_old_values:
            written.append(sink.topic)
            return TableGroupByForm(operator, group_by, sink, store, partial(_send, sink))
    return None


def _table_aggregate(operator: ops.TableAggregate, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    store = stores.kept[operator.store_name]
    if operator.send_old_values or not layout.key_serde.canonical or layout.key_serde != store.key_serde:
        return None
    aggregated = Layout(layout.key_serde, store.value_serde, values_as_written=True)
    forward = _children(operator, aggregated, stores, written)
    return None if forward is None else TableAggregateForm(operator, store, layout.value_serde, forward)


def _send(sink: ops.Sink, batch: Batch) -> None:
    sink.context.collector.send_batch(sink.topic, batch)


def _sink(operator: ops.Sink, layout: Layout, written: list[str]) -> Form | None:
    same = (layout.key_serde, layout.value_serde) == (operator.key_serde, operator.value_serde)
    if not same or not layout.key_serde.canonical or not (layout.value_serde.canonical or layout.values_as_written):
        return None
    written.append(operator.topic)
    return partial(_send, operator)
