"""A serde around another one."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from headrace.errors import SerdeError
from headrace.serdes.base import Serde

T = TypeVar("T")


class Wrapping(Serde[T], Generic[T]):
    """What serdes around an `inner` one share. Without it, the topology's default takes its place."""

    def __init__(self, inner: Serde[Any] | None = None) -> None:
        self.given = inner
        self.canonical = self._is_canonical()

    @property
    def inner(self) -> Serde[Any]:
        """The serde inside."""
        if self.given is None:
            message = (
                f"{self!r} was given no inner serde; give it one, e.g. {type(self).__name__}(serdes.String(), ...)."
            )
            raise SerdeError(message)
        return self.given

    def with_default(self, inner: Serde[Any]) -> Self:
        """The same around `inner`, if it was given none."""
        if self.given is not None:
            return self
        copy = type(self).__new__(type(self))
        vars(copy).update(vars(self), given=inner)
        copy.canonical = copy._is_canonical()
        return copy

    def _is_canonical(self) -> bool:
        return self.given is not None and self.given.canonical

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.given is None else repr(self.given)})"

    def __hash__(self) -> int:
        return hash((type(self), self.given))
