"""Joins of two streams: each side stores its records, and the other side looks them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headrace._graph.names import checked_name
from headrace._graph.nodes import JoinWindow, PassThrough, StreamJoin
from headrace.dsl.joins.options import Join
from headrace.dsl.joins.repartitioned import repartition_if_needed
from headrace.errors import TopologyError
from headrace.model.stores.specs import UnmatchedSpec, WindowSpec
from headrace.model.time.join_windows import JoinWindows
from headrace.serdes.wrapping.sides import Sides

if TYPE_CHECKING:
    from headrace._graph.graph import GraphBuilder
    from headrace.dsl.kstream import KStream


class _Side(NamedTuple):
    """One side: the names of its nodes and of its store, and the window for records of the other side."""

    stream: KStream[Any, Any]
    windowed: str
    join: str
    store: str
    is_outer: bool
    before_ms: int
    after_ms: int


def join_streams(left: KStream[Any, Any], right: KStream[Any, Any], join: Join) -> KStream[Any, Any]:
    """Adds for each side a node that stores records and one that joins them, and a merge of both."""
    within = _checked_windows(left, right, join)
    name, graph, joiner = join.get("name"), left._graph, join.with_key(f"{left!r} and {right!r}")
    keys = join.get("key_serde") or left._key_serde or right._key_serde
    left = repartition_if_needed(left, name and f"{name}-left", keys, join.get("value_serde"))
    right = repartition_if_needed(right, name and f"{name}-right", keys, join.get("other_value_serde"))
    sides, unmatched, merge = _name_nodes(graph, join, left, right, within)
    size_ms = within.before_ms + within.after_ms
    for side in sides:
        window = WindowSpec(
            name=side.store,
            key_serde=keys,
            value_serde=side.stream._value_serde,
            retention_ms=size_ms + within.grace_ms,
            window_size_ms=size_ms,
            retain_duplicates=True,
        )
        graph.add(JoinWindow(name=side.windowed, parents=(side.stream._node,), stores=(graph.add_store(window).name,)))
    if unmatched is not None:
        values = Sides(left._value_serde, right._value_serde)
        graph.add_store(UnmatchedSpec(name=unmatched, key_serde=keys, value_serde=values))
    for side, other in (sides, sides[::-1]):
        node = StreamJoin(
            name=side.join,
            parents=(side.windowed,),
            stores=(other.store,) if unmatched is None else (other.store, unmatched),
            join=name or merge,
            merge=merge,
            window=side.store,
            unmatched=unmatched,
            joiner=joiner,
            is_left=side is sides[0],
            is_outer=side.is_outer,
            other_is_outer=other.is_outer,
            before_ms=side.before_ms,
            after_ms=side.after_ms,
            grace_ms=within.grace_ms,
        )
        graph.add(node)
    graph.add(PassThrough(name=merge, parents=tuple(side.join for side in sides)))
    graph.copartition(join.operation, left._node, right._node)
    return left._derive(merge, keys, join.result_serde(left._value_serde), repartition_required=False)


def _checked_windows(left: KStream[Any, Any], right: KStream[Any, Any], join: Join) -> JoinWindows:
    sides = f"{left!r} and {right!r}"
    join.allow(sides, "within", "key_serde", "value_serde", "other_value_serde", "store", "name")
    example = "within=JoinWindows.of(timedelta(minutes=5))"
    within = join.require(sides, "within", f"how far apart the timestamps of partners may be, e.g. {example}")
    if not isinstance(within, JoinWindows):
        message = (
            f"{join.operation}() of {sides} was given within={within!r} of type {type(within).__name__}; allowed: "
            f"JoinWindows, e.g. {example}."
        )
        raise TopologyError(message)
    for option, what in (("name", "node"), ("store", "store")):
        if option in join.options:
            checked_name(join.get(option), what)
    return within


def _name_nodes(
    graph: GraphBuilder, join: Join, left: KStream[Any, Any], right: KStream[Any, Any], within: JoinWindows
) -> tuple[tuple[_Side, _Side], str | None, str]:
    """Returns both sides, and the names of the store of unmatched records and of the merge, as in Kafka Streams."""
    name, store = join.get("name"), join.get("store")

    def node(prefix: str, suffix: str) -> tuple[str, str]:
        generated = graph.names.generate(prefix)
        return generated, generated if name is None else f"{name}-{suffix}"

    # A node is named after its other side: in a left join only the right side's node is called an outer one.
    this_kind, other_kind = "outer-this" if join.right else "this", "outer-other" if join.left else "other"
    _, left_windowed = node("KSTREAM-WINDOWED-", "this-windowed")
    _, right_windowed = node("KSTREAM-WINDOWED-", "other-windowed")
    this, left_join = node("KSTREAM-OUTERTHIS-" if join.right else "KSTREAM-JOINTHIS-", f"{this_kind}-join")
    other, right_join = node("KSTREAM-OUTEROTHER-" if join.left else "KSTREAM-JOINOTHER-", f"{other_kind}-join")
    _, merge = node("KSTREAM-MERGE-", "merge")
    unmatched = f"KSTREAM-OUTERSHARED-{this[-10:]}-store"
    left_store, right_store = f"{this}-store", f"{other}-store"
    if store is not None:
        unmatched = f"{store}-{'outer' if join.right else 'left'}-shared-join-store"
        left_store, right_store = f"{store}-{this_kind}-join-store", f"{store}-{other_kind}-join-store"
    sides = (
        _Side(left, left_windowed, left_join, left_store, join.left, within.before_ms, within.after_ms),
        _Side(right, right_windowed, right_join, right_store, join.right, within.after_ms, within.before_ms),
    )
    return sides, unmatched if join.left else None, merge
