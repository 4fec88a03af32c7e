"""`BranchedKStream`: a stream being split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from headrace._graph.checks import checked_callable
from headrace._graph.nodes import Branch, PassThrough
from headrace.errors import TopologyError

K = TypeVar("K")
V = TypeVar("V")

_Predicate = Callable[[Any, Any], object]


class BranchedKStream(Generic[K, V]):
    """A split under construction: add branches, then end it with `default()` or `no_default()`."""

    def __init__(
        self, stream: KStream[K, V], name: str, branches: tuple[tuple[str, str, _Predicate | None], ...] = ()
    ) -> None:
        self._stream = stream
        self._name = name
        self._branches = branches

    def branch(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> BranchedKStream[K, V]:
        """Adds a branch for the records for which `predicate(key, value)` holds and no earlier branch took them.

        Without a name the branch is called by its position, "1", "2", …
        """
        checked_callable(predicate, "branch", "predicate(key, value)")
        return self._with(name or str(len(self._branches) + 1), predicate)

    def default(self, *, name: str | None = None) -> dict[str, KStream[K, V]]:
        """Ends the split; what no branch took goes to a last branch, called "0" without a name."""
        return self._with(name or "0", None)._finish()

    def no_default(self) -> dict[str, KStream[K, V]]:
        """Ends the split; what no branch took is dropped."""
        return self._finish()

    def _with(self, branch: str, predicate: _Predicate | None) -> BranchedKStream[K, V]:
        if any(existing == branch for existing, _, _ in self._branches):
            message = f"split() {self._name!r} already has a branch named {branch!r}; give every branch its own name."
            raise TopologyError(message)
        self._stream._graph.names.generate("KSTREAM-BRANCHCHILD-")
        return BranchedKStream(
            self._stream, self._name, (*self._branches, (branch, f"{self._name}{branch}", predicate))
        )

    def _finish(self) -> dict[str, KStream[K, V]]:
        if not self._branches:
            message = f"split() {self._name!r} has no branches; add at least one with branch(predicate)."
            raise TopologyError(message)
        stream, graph = self._stream, self._stream._graph
        predicates = tuple(predicate for _, _, predicate in self._branches)
        graph.add(Branch(name=self._name, parents=(stream._node,), predicates=predicates))
        return {
            branch: stream._same_key(graph.add(PassThrough(name=node, parents=(self._name,))).name, stream._value_serde)
            for branch, node, _ in self._branches
        }


from headrace.dsl.kstream import KStream  # noqa: E402  a stream begins a split
