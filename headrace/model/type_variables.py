"""`TypeVar` with a `default`, which the standard library has only from Python 3.13 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Type checkers bundle the stubs of typing_extensions; Headrace does not need the package itself.
    from typing_extensions import TypeVar
else:
    import typing

    def TypeVar(name, *, default=None, **variance):  # noqa: N802, ANN001, ANN003, ANN201, ARG001
        return typing.TypeVar(name, **variance)


__all__ = ["TypeVar"]
