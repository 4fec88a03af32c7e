"""The base class of serdes around another serde."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from headrace.errors import SerdeError
from headrace.serdes.base import Serde, TopicPart
from headrace.serdes.checks import checked_serde

T = TypeVar("T")


class Wrapping(Serde[T], Generic[T]):
    """A serde around an `inner` serde. If `inner` is `None`, a topology uses its default serde there."""

    _canonical_like_inner = False
    """Whether the serde is canonical if the inner serde is. Otherwise the class attribute `canonical` applies."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Applies a `canonical` that a subclass sets, or that `Serde` resets for another format, to all instances."""
        super().__init_subclass__(**options)
        if "canonical" in vars(cls) and "_canonical_like_inner" not in vars(cls):
            cls._canonical_like_inner = False

    def __init__(self, inner: Serde[Any] | None = None) -> None:
        if inner is not None:
            checked_serde(inner, f"{type(self).__name__}(): the inner serde", error=SerdeError)
        self.given = inner
        if self._canonical_like_inner:
            self.canonical = inner is not None and inner.canonical

    @property
    def inner(self) -> Serde[Any]:
        """The inner serde.

        Raises:
            SerdeError: if there is none.
        """
        if self.given is None:
            message = f"{self!r} has no inner serde; pass one, e.g. {type(self).__name__}(serdes.String(), ...)."
            raise SerdeError(message)
        return self.given

    def with_default(self, inner: Serde[Any]) -> Self:
        """Returns this serde, or a copy around `inner` if it has no inner serde."""
        return self._around((self.given or inner).with_default(inner))

    def read_back(self) -> Self:
        """A copy whose inner serde refuses values that it would read back as something else."""
        return self if self.given is None else self._around(self.given.read_back())

    def for_topic(self, topic: str, part: TopicPart) -> Self:
        """A copy around the inner serde's serde for the topic."""
        return self if self.given is None else self._around(self.given.for_topic(topic, part))

    def _around(self, inner: Serde[Any]) -> Self:
        if inner is self.given:
            return self
        copy = type(self).__new__(type(self))
        vars(copy).update(vars(self), given=inner)
        if self._canonical_like_inner:
            copy.canonical = inner.canonical
        return copy

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.given is None else repr(self.given)})"

    def __hash__(self) -> int:
        return hash((type(self), self.given))
