"""The serde of unmatched records of a stream-stream join: values of either side in one store."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from headrace.serdes.base import Serde

RIGHT: Final = b"\x00"
LEFT: Final = b"\x01"


class SideValue(NamedTuple):
    """A value, and whether it comes from the left side."""

    value: Any
    is_left: bool


class Sides(Serde[SideValue]):
    """One byte for the side, then the value in the format of that side's serde."""

    def __init__(self, left: Serde[Any] | None, right: Serde[Any] | None) -> None:
        self.left = left
        self.right = right

    def with_default(self, inner: Serde[Any]) -> Sides:
        """A copy in which `inner` is the serde of each side that has none."""
        return Sides((self.left or inner).with_default(inner), (self.right or inner).with_default(inner))

    def read_back(self) -> Sides:
        """A copy whose serdes refuse values that they would read back as something else."""
        return Sides(self.left and self.left.read_back(), self.right and self.right.read_back())

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
