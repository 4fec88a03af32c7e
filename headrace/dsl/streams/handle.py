"""The part of `KStream` that every operator uses: how to add a node after it, and how to derive a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, cast

from headrace._graph.nodes import Node
from headrace.dsl.handle import Handle, NodeOutput
from headrace.dsl.type_variables import K, V
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream


class StreamHandle(Handle, Generic[K, V]):
    """A node of the graph that emits records, with their serdes if they are known.

    `repartition_required` says whether the key may have changed since the records were last partitioned by key.
    """

    def __init__(self, output: NodeOutput, *, repartition_required: bool) -> None:
        super().__init__(output)
        self._repartition_required = repartition_required

    def _add(self, kind: type[Node], prefix: str, name: str | None, **options: Any) -> str:
        node = kind(name=self._graph.names.node(name, prefix), parents=(self._node,), **options)
        return self._graph.add(node).name

    def _derive(
        self, node: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None, *, repartition_required: bool
    ) -> KStream[Any, Any]:
        # The class is not imported by its name: it inherits from this one.
        output = NodeOutput(self._graph, node, key_serde, value_serde)
        stream = type(self)(output, repartition_required=repartition_required)
        return cast("KStream[Any, Any]", stream)

    def _derive_same_key(self, node: str, value_serde: Serde[Any] | None) -> KStream[Any, Any]:
        return self._derive(node, self._key_serde, value_serde, repartition_required=self._repartition_required)

    def _derive_new_key(self, node: str, key_serde: Serde[Any] | None = None) -> KStream[Any, Any]:
        return self._derive(node, key_serde, None, repartition_required=True)
