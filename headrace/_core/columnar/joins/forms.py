"""The batch forms of stream-stream joins whose two sides come straight from sources that feed nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace._core import operators as ops
from headrace._core.columnar.joins.rows import StreamSide
from headrace._core.columnar.joins.stream_stream import StreamJoinForm
from headrace._core.columnar.layout import can_store_input_bytes
from headrace._state.layouts.entry_lists import ListsBySpan


def join_forms(sources: Mapping[str, ops.Source], stores: Mapping[str, Any]) -> dict[str, StreamJoinForm]:
    """The batch forms of joins, by all topics of both sides."""
    sides_by_join: dict[str, dict[bool, tuple[ops.Source, StreamSide]]] = {}
    for source in dict.fromkeys(sources.values()):
        match source.children:
            case (ops.StreamJoinWindow(children=(ops.StreamJoin() as join,)),):
                side = _side(source, join, stores)
                if side is not None:
                    sides_by_join.setdefault(join.settings.clock.join, {})[join.settings.is_left] = (source, side)
    forms: dict[str, StreamJoinForm] = {}
    for sides in sides_by_join.values():
        if len(sides) == 2:
            (left_source, left), (right_source, right) = sides[True], sides[False]
            both = {left_source: True, right_source: False}
            topics = {topic: both[source] for topic, source in sources.items() if source in both}
            forms |= dict.fromkeys(topics, StreamJoinForm(left, right, left_source.key_serde, topics))
    return forms


def _side(source: ops.Source, join: ops.StreamJoin, stores: Mapping[str, Any]) -> StreamSide | None:
    store = stores[join.settings.window]
    if (source.key_serde, source.value_serde) != (store.key_serde, store.value_serde):
        return None
    if not source.key_serde.canonical or not can_store_input_bytes(source.value_serde):
        return None
    return StreamSide(join, store.duplicates, source.value_serde) if isinstance(store.duplicates, ListsBySpan) else None
