"""`BranchedKStream`: splits a stream into branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, cast

from headrace._graph.nodes import Branch, PassThrough
from headrace.dsl.streams.handle import StreamHandle
from headrace.dsl.type_variables import K, V
from headrace.errors import TopologyError
from headrace.model.arguments import checked_callable

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream


_Predicate = Callable[[Any, Any], object]


class BranchedKStream(Generic[K, V]):
    """A split of a stream: add branches, then end the split with `default()` or `no_default()`.

    Each record goes to the first branch whose predicate is true. `default()` and `no_default()` return a dict with the
    stream of each branch by its name.

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

    def __init__(self, stream: StreamHandle[K, V], name: str) -> None:
        self._stream = stream
        self._name = name
        self._predicates: dict[str, _Predicate | None] = {}
        self._results: dict[str, KStream[Any, Any]] = {}

    def branch(
        self,
        predicate: Callable[[K, V], object],
        *,
        name: str | None = None,
        function: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
        consumer: Callable[[KStream[K, V]], object] | None = None,
    ) -> BranchedKStream[K, V]:
        """Adds a branch for the records that match no earlier branch and for which `predicate(key, value)` is true.

        Args:
            predicate: decides which records go to the branch.
            name: name of the branch. Default: its number, counted from 1: "1", "2" and so on.
            function: called at once with the stream of the branch. The dict then has the stream that it returns in
                place of the branch; if it returns `None`, the dict does not have the branch.
            consumer: called at once with the stream of the branch. The dict then does not have the branch.

        Raises:
            TopologyError: for a name that another branch has, for `function` together with `consumer`, and after
                `default()`.

        Example:
            >>> import headrace as hr
            >>> builder = hr.StreamsBuilder()
            >>> split = builder.stream("in").split()
            >>> split = split.branch(lambda key, value: value > 9, consumer=lambda big: big.to("big"))
            >>> split = split.branch(lambda key, value: value > 5, name="mid", function=lambda mid: mid.map_values(str))
            >>> list(split.default(name="small"))
            ['mid', 'small']
        """
        checked_callable(predicate, "branch", "predicate(key, value)")
        return self._add("branch", name or str(len(self._predicates) + 1), predicate, function, consumer)

    def default(
        self,
        *,
        name: str | None = None,
        function: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
        consumer: Callable[[KStream[K, V]], object] | None = None,
    ) -> dict[str, KStream[K, V]]:
        """Ends the split; the remaining records go to a last branch. Returns the branches by name.

        Args:
            name: name of the last branch. Default: "0".
            function: as in `branch`.
            consumer: as in `branch`.
        """
        return self._add("default", name or "0", None, function, consumer)._finish()

    def no_default(self) -> dict[str, KStream[K, V]]:
        """Ends the split; the remaining records are dropped. Returns the branches by name."""
        return self._finish()

    def _add(
        self,
        operation: str,
        branch: str,
        predicate: _Predicate | None,
        function: Callable[[KStream[K, V]], object] | None,
        consumer: Callable[[KStream[K, V]], object] | None,
    ) -> BranchedKStream[K, V]:
        self._check(operation, branch, function, consumer)
        stream, graph = self._stream, self._stream._graph
        graph.names.generate("KSTREAM-BRANCHCHILD-")
        self._predicates[branch] = predicate
        split = Branch(name=self._name, parents=(stream._node,), predicates=tuple(self._predicates.values()))
        if len(self._predicates) == 1:
            graph.add(split)
        else:
            graph.replace(split)
        node = graph.add(PassThrough(name=f"{self._name}{branch}", parents=(self._name,)))
        branched = stream._derive_same_key(node.name, stream._value_serde)
        if consumer is not None:
            consumer(branched)
            return self
        result = branched if function is None else function(branched)
        if result is not None:
            self._results[branch] = self._checked_result(operation, branch, result)
        return self

    def _check(self, operation: str, branch: str, function: object, consumer: object) -> None:
        if branch in self._predicates:
            message = f"split() {self._name!r} already has a branch named {branch!r}; give every branch its own name."
            raise TopologyError(message)
        if None in self._predicates.values():
            message = f"{operation}() of split() {self._name!r}: the split has ended with its default branch."
            raise TopologyError(message)
        if function is not None and consumer is not None:
            message = f"{operation}() of split() {self._name!r} was given function= and consumer=; give one of them."
            raise TopologyError(message)
        for given, signature in ((function, "function(stream) -> stream"), (consumer, "consumer(stream)")):
            if given is not None:
                checked_callable(given, operation, signature)

    def _checked_result(self, operation: str, branch: str, result: object) -> KStream[Any, Any]:
        if not isinstance(result, StreamHandle):
            message = (
                f"{operation}() of split() {self._name!r}: function= returned {result!r} of type "
                f"{type(result).__name__} for the branch {branch!r}; it must return a KStream, or None."
            )
            raise TopologyError(message)
        return cast("KStream[Any, Any]", result)

    def _finish(self) -> dict[str, KStream[K, V]]:
        if not self._predicates:
            message = f"split() {self._name!r} has no branches; add at least one with branch(predicate)."
            raise TopologyError(message)
        return dict(self._results)
