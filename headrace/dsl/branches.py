"""`BranchedKStream`: a stream that is being split into branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace._graph.checks import checked_callable
from headrace._graph.nodes import Branch, PassThrough
from headrace.dsl.streams.handle import StreamHandle
from headrace.errors import TopologyError

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V", covariant=True)

_Predicate = Callable[[Any, Any], object]


class BranchedKStream(Generic[K, V]):
    """A split under construction: add branches, then end it with `default()` or `no_default()`.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = hr.StreamsBuilder()
        >>> sizes = builder.stream("in").split().branch(lambda key, value: value > 9, name="big").default(name="small")
        >>> sizes["big"].to("big")
        >>> sizes["small"].to("small")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("in").pipe("a", 10, timestamp_ms=1)
        ...     driver.output_topic("big").read_all(), driver.output_topic("small").read_all()
        ([Record(key='a', value=10, timestamp_ms=1)], [])
    """

    def __init__(
        self, stream: StreamHandle[K, V], name: str, branches: tuple[tuple[str, str, _Predicate | None], ...] = ()
    ) -> None:
        self._stream = stream
        self._name = name
        self._branches = branches

    def branch(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> BranchedKStream[K, V]:
        """Adds a branch: the records that no earlier branch takes and for which `predicate(key, value)` is true.

        Without a name the branch is named by its position, "1", "2", …
        """
        checked_callable(predicate, "branch", "predicate(key, value)")
        return self._with(name or str(len(self._branches) + 1), predicate)

    def default(self, *, name: str | None = None) -> dict[str, KStream[K, V]]:
        """Ends the split; the remaining records go to a last branch, named "0" unless you name it."""
        return self._with(name or "0", None)._finish()

    def no_default(self) -> dict[str, KStream[K, V]]:
        """Ends the split; the remaining records are dropped."""
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
            branch: stream._derive_same_key(
                graph.add(PassThrough(name=node, parents=(self._name,))).name, stream._value_serde
            )
            for branch, node, _ in self._branches
        }
