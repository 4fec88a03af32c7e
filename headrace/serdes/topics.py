"""Applies serdes whose format may depend on the topic or on the headers of a record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from headrace.model.record import Headers
from headrace.serdes.base import Serde


def for_topic(topic: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> tuple[Serde[Any], Serde[Any]]:
    """Returns the serdes for the keys and the values of a topic: the given ones, unless they depend on the topic."""
    return key_serde.for_topic(topic, "key"), value_serde.for_topic(topic, "value")


def deserialize_column(
    serde: Serde[Any], column: Sequence[bytes | None], headers: Sequence[Headers] | None
) -> Sequence[Any]:
    """Deserializes the keys or the values of records; `headers` is `None` if no record has any."""
    if not serde.uses_headers:
        return serde.deserialize_many(column)
    return list(map(serde.deserialize_with_headers, column, headers or repeat(())))
