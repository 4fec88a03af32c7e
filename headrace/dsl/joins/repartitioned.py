"""Repartitions a stream before a join, if its key may have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace._graph.repartition import add_repartition, pass_over_repartition
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream


def repartition_if_needed(
    stream: KStream[Any, Any], base: str | None, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
) -> KStream[Any, Any]:
    """Returns the stream with these serdes, partitioned by its key.

    `base` names the repartition; if it is `None`, the stream's node does. Then joins of the same stream share it.
    """
    keys, values = key_serde or stream._key_serde, value_serde or stream._value_serde
    if not stream._repartition_required:
        return stream._derive(stream._node, keys, values, repartition_required=False)
    named = stream._node if base is None else base
    known = stream._graph.source_of((f"{named}-repartition",))
    if known is not None and (known.key_serde, known.value_serde) == (keys, values):
        pass_over_repartition(stream._graph)
        return stream._derive(known.name, keys, values, repartition_required=False)
    source = add_repartition(stream._graph, stream._node, named, key_serde=keys, value_serde=values)
    return stream._derive(source, keys, values, repartition_required=False)
