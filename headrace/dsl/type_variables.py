"""The type variables of the fluent classes: of their own keys and values, and of those of an operator's results."""

from __future__ import annotations

from typing import TypeVar

# Values are covariant, because no operator changes a stream or a table: a `KTable[str, bool]` is a `KTable[str, int]`.
# Keys are not, so that a join of streams or tables with different types of keys is an error.
K = TypeVar("K")
V = TypeVar("V", covariant=True)

# Records without a value are dropped, so a joiner or an aggregator gets a `Value` though the stream may have
# `Value | None`.
Key = TypeVar("Key")
Value = TypeVar("Value")

# New keys and values, aggregates, the values of a join's other side, and foreign keys.
K2 = TypeVar("K2")
V2 = TypeVar("V2")
A = TypeVar("A")
Other = TypeVar("Other")
Foreign = TypeVar("Foreign")
