"""Makes public classes explain unknown attributes and arguments. Called once, when the package is imported."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable
from enum import Enum
from typing import Any, Protocol

import msgspec

from headrace._suggestions.arguments import check_arguments
from headrace._suggestions.attributes import suggest_attributes


def suggest_names(things: Iterable[Any]) -> None:
    """Makes the classes among some public things explain unknown attributes, and unknown arguments of their methods.

    Protocols only describe types, and exceptions and enums have no names to guess. Classes that users extend or create
    for each record explain attributes, but their methods are not wrapped.
    """
    for kind in things:
        if not isinstance(kind, type) or issubclass(kind, Exception | Enum | tuple) or Protocol in kind.__bases__:
            continue
        suggest_attributes(kind)
        if ABC not in kind.__mro__ and not issubclass(kind, msgspec.Struct):
            check_arguments(kind)
