"""How the keys and values of a topic's records become bytes, with serdes that depend on the topic or on headers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from headrace.model.record import Headers
from headrace.serdes.base import Serde


def for_topic(topic: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> tuple[Serde[Any], Serde[Any]]:
    """The serdes for the keys and the values of a topic."""
    return key_serde.for_topic(topic, "key"), value_serde.for_topic(topic, "value")


def deserialize_column(
    serde: Serde[Any], column: Sequence[bytes | None], headers: Sequence[Headers] | None
) -> Sequence[Any]:
    """Deserializes the keys or the values of records; `headers` is `None` if no record has any."""
    if not serde.uses_headers:
        return serde.deserialize_many(column)
    return list(map(serde.deserialize_with_headers, column, headers or repeat(())))
