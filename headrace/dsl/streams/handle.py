"""The part of `KStream` that every operator uses: its node in the graph, its serdes, and how to derive a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Node
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

# Values are covariant, because no operator changes a stream: a `KStream[str, bool]` is a `KStream[str, int]`. Keys are
# not, so that a join of streams with different types of keys is an error.
K = TypeVar("K")
V = TypeVar("V", covariant=True)


class StreamHandle(Generic[K, V]):
    """A node of the graph that emits records, with their serdes if they are known.

    `repartition_required` says whether the key may have changed since the records were last partitioned by key.
    """

    def __init__(
        self,
        graph: GraphBuilder,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        repartition_required: bool,
    ) -> None:
        self._graph = graph
        self._node = node
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._repartition_required = repartition_required

    def _add(self, kind: type[Node], prefix: str, name: str | None, **options: Any) -> str:
        node = kind(name=self._graph.names.node(name, prefix), parents=(self._node,), **options)
        return self._graph.add(node).name

    def _derive(
        self, node: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None, *, repartition_required: bool
    ) -> KStream[Any, Any]:
        # The class is not imported by its name: it inherits from this one.
        stream = type(self)(self._graph, node, key_serde, value_serde, repartition_required=repartition_required)
        return cast("KStream[Any, Any]", stream)

    def _derive_same_key(self, node: str, value_serde: Serde[Any] | None) -> KStream[Any, Any]:
        return self._derive(node, self._key_serde, value_serde, repartition_required=self._repartition_required)

    def _derive_new_key(self, node: str, key_serde: Serde[Any] | None = None) -> KStream[Any, Any]:
        return self._derive(node, key_serde, None, repartition_required=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node}>"
