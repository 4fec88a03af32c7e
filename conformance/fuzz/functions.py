"""The user functions of random topologies, by name: the same as in the recorder's `fuzz/NamedFunctions.java`.

Every function takes values of any kind, text or number or null, so that a generator may combine them freely.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

LONGEST = 24


def show(value: Any) -> str:
    return "_" if value is None else str(value)


def clip(text: str) -> str:
    """Shortens a text, because joins of joins and aggregates of aggregates would grow without bound."""
    return text if len(text) <= LONGEST else f"{text[:10]}~{text[-13:]}"


def size(value: Any) -> int:
    return len(show(value))


def number(value: Any) -> int:
    return 0 if value is None else int(value)


def head(value: Any) -> str | None:
    return None if value is None else str(value)[:1] or None


def last(value: Any) -> str | None:
    return None if value is None else str(value)[-1:] or None


PREDICATES: dict[str, Callable[[Any, Any], bool]] = {
    "is_long": lambda _, value: size(value) > 2,
    "is_even": lambda _, value: size(value) % 2 == 0,
    "has_a": lambda _, value: "a" in show(value),
    "key_is_not_b": lambda key, _: "b" not in show(key),
    "is_odd_number": lambda _, value: show(value)[-1:] in ("1", "3", "5", "7", "9"),
}

# What a mapper returns: text, number, or the kind it was given.
MAPPER_KINDS = {"shout": "text", "nil_b": "text", "first": "text", "size": "number", "same": None}

MAPPERS: dict[str, Callable[[Any], Any]] = {
    "shout": lambda value: clip(show(value) + "!"),
    "nil_b": lambda value: None if "b" in show(value) else show(value),
    "first": head,
    "size": size,
    "same": lambda value: value,
}

SELECTORS: dict[str, Callable[[Any, Any], str | None]] = {
    "head": lambda _, value: head(value),
    "last": lambda _, value: last(value),
    "all": lambda _, __: "all",
    "key": lambda key, _: None if key is None else show(key),
    "key_unless_c": lambda key, value: None if key is None or "c" in show(value) else show(key),
}

FLATTENERS: dict[str, Callable[[Any], list[str]]] = {
    "letters": lambda value: list(show(value)[:3]),
    "twice": lambda value: [show(value), clip(show(value) + "2")],
    "none_if_even": lambda value: [] if size(value) % 2 == 0 else [show(value)],
}

JOINERS: dict[str, Callable[[Any, Any], str | None]] = {
    "pair": lambda left, right: clip(f"({show(left)},{show(right)})"),
    "nil_d": lambda left, right: None if "d" in show(left) + show(right) else clip(f"{show(left)}/{show(right)}"),
}

# Joiners that get the key, too. Java has none for tables, where the key is put in front of the result.
KEYED_JOINERS: dict[str, Callable[[Any, Any, Any], str]] = {
    "keyed": lambda key, left, right: clip(f"{show(key)}:{show(left)},{show(right)}"),
}


# Timestamp extractors: (value, timestamp, partition time) -> timestamp, negative to drop the record.
EXTRACTORS: dict[str, Callable[[Any, int, int], int]] = {
    "never_backwards": lambda _, timestamp_ms, partition_time_ms: max(timestamp_ms, partition_time_ms),
    "later_by_size": lambda value, timestamp_ms, _: timestamp_ms + 3 * size(value),
    "drop_d": lambda value, timestamp_ms, _: -1 if "d" in show(value) else timestamp_ms,
}


class Reducer(NamedTuple):
    """Adds a value to an aggregate of the same kind, or takes it away."""

    kind: str
    add: Callable[[Any, Any], Any]
    subtract: Callable[[Any, Any], Any]


REDUCERS = {
    "append": Reducer("text", lambda a, v: clip(show(a) + show(v)), lambda a, v: clip(f"{show(a)}-{show(v)}")),
    "last": Reducer("text", lambda _, v: v, lambda a, _: a),
    "nil_long": Reducer(
        "text",
        lambda a, v: None if len(show(a) + show(v)) > 6 else show(a) + show(v),
        lambda a, v: None if a == v else clip(f"{show(a)}-{show(v)}"),
    ),
    "sum": Reducer("number", lambda a, v: number(a) + number(v), lambda a, v: number(a) - number(v)),
    "max": Reducer("number", lambda a, v: max(number(a), number(v)), lambda a, _: number(a)),
}


class Aggregator(NamedTuple):
    """An initial value, and the functions that add a value to an aggregate, subtract one, and merge two aggregates."""

    kind: str
    initial: Any
    add: Callable[[Any, Any, Any], Any]
    subtract: Callable[[Any, Any, Any], Any]
    merge: Callable[[Any, Any, Any], Any]


AGGREGATORS = {
    "append": Aggregator(
        "text",
        "",
        lambda _, v, a: clip(f"{show(a)}{show(v)}"),
        lambda _, v, a: clip(f"{show(a)}-{show(v)}"),
        lambda _, left, right: clip(f"({show(left)}&{show(right)})"),
    ),
    "nil_b": Aggregator(
        "text",
        ">",
        lambda _, v, a: None if "b" in show(v) else clip(f"{show(a)}+{show(v)}"),
        lambda _, v, a: None if show(a).endswith(show(v)) else clip(f"{show(a)}-{show(v)}"),
        lambda _, left, right: clip(f"{show(left)}&{show(right)}"),
    ),
    "size": Aggregator(
        "number",
        0,
        lambda _, v, a: number(a) + size(v),
        lambda _, v, a: number(a) - size(v),
        lambda _, left, right: number(left) + number(right),
    ),
}
