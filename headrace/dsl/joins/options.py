"""The options of a join, and the refusal of options that do not fit its two sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar

from headrace._graph.checks import checked_callable, checked_partitioner
from headrace._graph.partitioners import KeyPartitioner
from headrace.errors import TopologyError, known_names
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
Other = TypeVar("Other")

# The TypedDicts are only for the type checker: the options that an overload of a join takes besides its own.


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
    store: str | None


@dataclass(frozen=True)
class Join:
    """One call of a join method. `left` and `right`: whether unmatched records of that side are emitted."""

    operation: str
    joiner: Callable[[Any, Any], Any]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, operation: str, joiner: object, **options: Any) -> Join:
        """Describes a call; options that are `None` count as not given."""
        checked_callable(joiner, operation, "joiner(left, right)")
        assert callable(joiner)
        return cls(operation, joiner, {name: value for name, value in options.items() if value is not None})

    @property
    def left(self) -> bool:
        return self.operation != "join"

    @property
    def right(self) -> bool:
        return self.operation == "outer_join"

    def get(self, option: str) -> Any:
        return self.options.get(option)

    def key_partitioner(self, option: str) -> KeyPartitioner | None:
        """The partitioner that an option names, for the keys of one side; `None` if the option is not given."""
        partitioner = self.get(option)
        checked_partitioner(partitioner, f"{self.operation}({option}=...)")
        return None if partitioner is None else KeyPartitioner(partitioner)

    def allow(self, sides: str, *allowed: str) -> None:
        """Raises a `TopologyError` for options that do not fit a join of these sides."""
        misfits = sorted(set(self.options) - set(allowed))
        if misfits:
            message = (
                f"{self.operation}() of {sides} was given {misfits[0]}={self.options[misfits[0]]!r}, which does "
                f"not apply here; it takes {known_names(allowed)}."
            )
            raise TopologyError(message)

    def require(self, sides: str, option: str, cure: str) -> Any:
        """Returns an option that a join of these sides needs, or raises a `TopologyError` that explains it."""
        if option not in self.options:
            message = f"{self.operation}() of {sides} needs {option}=: {cure}."
            raise TopologyError(message)
        return self.options[option]
