"""Nodes of stateless operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace._graph.nodes.base import Node


@dataclass(frozen=True, kw_only=True)
class Filter(Node):
    """Forwards the records for which the predicate returns `keep`."""

    predicate: Callable[[Any, Any], object]
    keep: bool = True


@dataclass(frozen=True, kw_only=True)
class NullKeyFilter(Node):
    """Drops records without a key in front of a repartition."""


@dataclass(frozen=True, kw_only=True)
class Map(Node):
    """Turns each record into one record."""

    mapper: Callable[[Any, Any], tuple[Any, Any]]


@dataclass(frozen=True, kw_only=True)
class MapValues(Node):
    """Turns each value into one value."""

    mapper: Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class MapValuesWithKey(Node):
    """Turns each value into one value, with access to the key."""

    mapper: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class FlatMap(Node):
    """Turns each record into any number of records."""

    mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]


@dataclass(frozen=True, kw_only=True)
class FlatMapValues(Node):
    """Turns each value into any number of values."""

    mapper: Callable[[Any], Iterable[Any]]


@dataclass(frozen=True, kw_only=True)
class FlatMapValuesWithKey(Node):
    """Turns each value into any number of values, with access to the key."""

    mapper: Callable[[Any, Any], Iterable[Any]]


@dataclass(frozen=True, kw_only=True)
class SelectKey(Node):
    """Gives each record a new key."""

    selector: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class Peek(Node):
    """Calls a function for each record and passes the record on."""

    action: Callable[[Any, Any], object]


@dataclass(frozen=True, kw_only=True)
class ForEach(Node):
    """Calls a function for each record, and forwards nothing."""

    action: Callable[[Any, Any], object]


@dataclass(frozen=True, kw_only=True)
class Print(Node):
    """Prints each record, or appends it to a file, and forwards nothing. `mapper` returns the text after the label."""

    label: str
    mapper: Callable[[Any, Any], object] | None
    file: Path | None


@dataclass(frozen=True, kw_only=True)
class Branch(Node):
    """Sends each record to the first child whose predicate holds; a predicate of `None` always holds."""

    predicates: tuple[Callable[[Any, Any], object] | None, ...]


@dataclass(frozen=True, kw_only=True)
class PassThrough(Node):
    """Passes records on unchanged: a merge, or the head of a branch."""
