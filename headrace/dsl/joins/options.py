"""The options of a join, and the check that they apply to its two sides."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar

from headrace._graph.partitioners import KeyPartitioner
from headrace.errors import TopologyError, known_names
from headrace.model.arguments import checked_partitioner, first_accepted
from headrace.model.stores.specs import TableStore
from headrace.serdes import Serde
from headrace.serdes.inferred import serde_of_results

K = TypeVar("K")
V = TypeVar("V")
Other = TypeVar("Other")

VALUES = "joiner(left, right)"

# The TypedDicts are only for the type checker: options that several overloads of the join methods have in common.


class JoinName(TypedDict, total=False):
    """The option of every join."""

    name: str | None


class RepartitionOptions(JoinName, Generic[K, V], total=False):
    """Options of a join that may repartition its stream: with a table."""

    key_serde: Serde[K] | None
    value_serde: Serde[V] | None


class StreamJoinOptions(RepartitionOptions[K, V], Generic[K, V, Other], total=False):
    """Options of a join of two streams."""

    other_value_serde: Serde[Other] | None
    store: str | None


class TableJoinOptions(JoinName, Generic[V], total=False):
    """Options of a join of two tables."""

    value_serde: Serde[V] | None
    store: TableStore | None


@dataclass(frozen=True)
class Join:
    """One call of a join method. `left` and `right` say whether unmatched records of that side have results."""

    operation: str
    joiner: Callable[..., Any]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, operation: str, joiner: object, **options: Any) -> Join:
        """Describes a call; an option that is `None` counts as not given."""
        if not callable(joiner):
            message = f"{operation}() needs a function {VALUES}; got {joiner!r} of type {type(joiner).__name__}."
            raise TopologyError(message)
        return cls(operation, joiner, {name: value for name, value in options.items() if value is not None})

    @property
    def left(self) -> bool:
        return self.operation != "join"

    @property
    def right(self) -> bool:
        return self.operation == "outer_join"

    def with_key(self, sides: str) -> Callable[[Any, Any, Any], Any]:
        """Returns the joiner as `joiner(key, left, right)`. Error messages name the two `sides`."""
        return self.joiner if self._joiner_arguments(sides, 3) == 3 else _without_keys(self.joiner, 1)

    def with_both_keys(self, sides: str) -> Callable[[Any, Any, Any, Any], Any]:
        """Returns the joiner as `joiner(key, other_key, left, right)`. Error messages name the two `sides`."""
        arguments = self._joiner_arguments(sides, 4)
        if arguments == 3:
            joiner = self.joiner
            return lambda key, _, left, right: joiner(key, left, right)
        return self.joiner if arguments == 4 else _without_keys(self.joiner, 2)

    def takes_only_values(self) -> bool:
        """Whether the joiner gets no key."""
        return first_accepted(self.joiner, 2) is not None

    def takes_both_keys(self) -> bool:
        """Whether the joiner gets both keys."""
        return first_accepted(self.joiner, 2, 3, 4) == 4

    def result_serde(self, left: Serde[Any] | None) -> Serde[Any] | None:
        """Returns the serde of results if annotations of the joiner reveal it; `left` is the serde of left values."""
        return serde_of_results(self.joiner, left)

    def _joiner_arguments(self, sides: str, most: int) -> int:
        signatures = {2: VALUES, 3: "joiner(key, left, right)", 4: "joiner(key, other key, left, right)"}
        allowed = [count for count in signatures if count <= most]
        found = first_accepted(self.joiner, *allowed)
        if found is None:
            message = (
                f"{self.operation}() of {sides} was given the joiner {self.joiner!r} with the parameters "
                f"{inspect.signature(self.joiner)}; allowed: {', '.join(signatures[count] for count in allowed)}."
            )
            raise TopologyError(message)
        return found

    def get(self, option: str) -> Any:
        return self.options.get(option)

    def key_partitioner(self, option: str) -> KeyPartitioner | None:
        """Returns the partitioner given by an option, for the keys of one side; `None` if the option is not given."""
        partitioner = self.get(option)
        checked_partitioner(partitioner, f"{self.operation}({option}=...)")
        return None if partitioner is None else KeyPartitioner(partitioner)

    def allow(self, sides: str, *allowed: str) -> None:
        """Raises a `TopologyError` if an option was given that a join of these `sides` does not have."""
        misfits = sorted(set(self.options) - set(allowed))
        if misfits:
            message = (
                f"{self.operation}() of {sides} was given {misfits[0]}={self.options[misfits[0]]!r}, which does "
                f"not apply here; it takes {known_names(allowed)}."
            )
            raise TopologyError(message)

    def require(self, sides: str, option: str, cure: str) -> Any:
        """Returns an option that a join of these `sides` needs, or raises a `TopologyError` with the advice `cure`."""
        if option not in self.options:
            message = f"{self.operation}() of {sides} needs {option}=: {cure}."
            raise TopologyError(message)
        return self.options[option]


def _without_keys(joiner: Callable[[Any, Any], Any], keys: int) -> Callable[..., Any]:
    """Wraps `joiner(left, right)` as a function that also takes one or two keys before the values, and ignores them."""
    if keys == 1:
        return lambda _, left, right: joiner(left, right)
    return lambda _, __, left, right: joiner(left, right)
