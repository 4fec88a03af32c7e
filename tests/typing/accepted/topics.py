"""Records written to topics and read from them."""

from __future__ import annotations

from typing import Any, assert_type

from headrace import KafkaTopics, LocalTopics, Record, serdes
from tests.typing.model import Sale


def check(topics: LocalTopics | KafkaTopics) -> None:
    topics.produce("t", [Record("a", {"cents": 1}), Record(None, None)])
    topics.produce("t", [Record("a", Sale("ann", 1)), Record("a", None)], value_serde=serdes.Json(Sale))
    assert_type(topics.read("t"), list[Record[str, Any]])
    assert_type(topics.read("t", serdes.Long(), serdes.Json(Sale)), list[Record[int, Sale]])
