"""A value of one of the two sides of a join."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from headrace.serdes.base import Serde

RIGHT: Final = b"\x00"
LEFT: Final = b"\x01"


class SideValue(NamedTuple):
    """A value, and whether it is of the left side."""

    value: Any
    is_left: bool


class Sides(Serde[SideValue]):
    """A byte that tells the side, then the value as the serde of that side writes it."""

    def __init__(self, left: Serde[Any] | None, right: Serde[Any] | None) -> None:
        self.left = left
        self.right = right

    def with_default(self, inner: Serde[Any]) -> Sides:
        """The same with `inner` on the sides that were given none."""
        return Sides((self.left or inner).with_default(inner), (self.right or inner).with_default(inner))

    def _to_bytes(self, value: SideValue) -> bytes:
        raw = self._of(is_left=value.is_left).serialize(value.value)
        return (LEFT if value.is_left else RIGHT) + (raw or b"")

    def _from_bytes(self, data: bytes) -> SideValue:
        is_left = data[:1] == LEFT
        return SideValue(self._of(is_left=is_left).deserialize(data[1:]), is_left)

    def _of(self, *, is_left: bool) -> Serde[Any]:
        serde = self.left if is_left else self.right
        assert serde is not None
        return serde

    def __repr__(self) -> str:
        return f"Sides({self.left!r}, {self.right!r})"

    def __hash__(self) -> int:
        return hash((type(self), self.left, self.right))
