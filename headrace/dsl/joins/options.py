"""What a join was asked for beside its two sides, and the refusal of what does not fit them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from headrace._graph.checks import checked_callable
from headrace.errors import TopologyError, known_names
from headrace.serdes import Serde


class JoinName(TypedDict, total=False):
    """For the type checker: the option of every join."""

    name: str | None


class RepartitionOptions(JoinName, total=False):
    """The same where a stream may be repartitioned: joined with a table."""

    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None


class StreamJoinOptions(RepartitionOptions, total=False):
    """The same for two streams."""

    other_value_serde: Serde[Any] | None
    store: str | None


class TableJoinOptions(JoinName, total=False):
    """The same for two tables."""

    value_serde: Serde[Any] | None
    store: str | None


@dataclass(frozen=True)
class Join:
    """One call of a join method. `left` and `right` tell whose records also come out without a partner."""

    operation: str
    joiner: Callable[[Any, Any], Any]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, operation: str, joiner: object, **options: Any) -> Join:
        """A call with the options that were given; the others are `None`."""
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

    def allow(self, sides: str, *allowed: str) -> None:
        """Refuses options that mean nothing to a join of these sides."""
        strange = sorted(set(self.options) - set(allowed))
        if strange:
            message = (
                f"{self.operation}() of {sides} was given {strange[0]}={self.options[strange[0]]!r}, which means "
                f"nothing there; it takes {known_names(allowed)}."
            )
            raise TopologyError(message)

    def require(self, sides: str, option: str, cure: str) -> Any:
        """An option without which a join of these sides has no meaning."""
        if option not in self.options:
            message = f"{self.operation}() of {sides} needs {option}=: {cure}."
            raise TopologyError(message)
        return self.options[option]
