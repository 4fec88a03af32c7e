"""Which paths through a task have a batch form: those of which every operator, from source to sinks, has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace._core import operators as ops
from headrace._core.columnar.batch import Batch
from headrace._core.columnar.count import CountForm
from headrace._core.columnar.window_count import WindowCountForm
from headrace._core.operator import Operator
from headrace.serdes import Long, Serde, Windowed
from headrace.windowing import TimeWindows

Form = Callable[[Batch], None]
Stores = Mapping[str, Any]


class Layout(NamedTuple):
    """The serdes whose bytes a batch holds."""

    key_serde: Serde[Any]
    value_serde: Serde[Any]


def columnar_forms(sources: Mapping[str, ops.Source], stores: Stores) -> dict[str, Form]:
    """The batch form of what follows each topic's source, where there is one."""
    forms: dict[str, Form] = {}
    for topic, source in sources.items():
        written: list[str] = []
        form = _children(source, Layout(source.key_serde, source.value_serde), stores, written)
        # Two ways to one topic interleave record by record, which batches cannot do.
        if form is not None and written and len(set(written)) == len(written):
            forms[topic] = form
    return forms


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
        case ops.Sink():
            return _sink(operator, layout, written)
    return None


def _count(operator: ops.StreamCount, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    forward = _children(operator, Layout(layout.key_serde, Long()), stores, written)
    store = stores[operator.store_name]
    if forward is None or not layout.key_serde.canonical or layout.key_serde != store.key_serde:
        return None
    return CountForm(operator, store.contents, forward)


def _window_count(operator: ops.TimeWindowCount, layout: Layout, stores: Stores, written: list[str]) -> Form | None:
    windows, settings = operator.windows, operator.settings
    store = stores[settings.store]
    if not isinstance(windows, TimeWindows) or windows.advance_ms < windows.size_ms:
        return None
    if settings.late_sink or settings.open_windows or settings.send_old_values or settings.idle:
        return None
    if not layout.key_serde.canonical or layout.key_serde != store.key_serde:
        return None
    forward = _children(operator, Layout(Windowed(layout.key_serde, windows.size_ms), Long()), stores, written)
    return None if forward is None else WindowCountForm(operator, windows, store, forward)


def _sink(operator: ops.Sink, layout: Layout, written: list[str]) -> Form | None:
    same = layout == Layout(operator.key_serde, operator.value_serde)
    if not same or not layout.key_serde.canonical or not layout.value_serde.canonical:
        return None
    written.append(operator.topic)
    return lambda batch: operator.context.collector.send_batch(operator.topic, batch)
