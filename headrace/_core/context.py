"""What a task gives its operators: stores, the place of the current input record, counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from headrace._core.columnar.batch import Batch
from headrace._core.metrics import Metrics
from headrace._core.order import Order


class RecordMetadata(NamedTuple):
    """The place of an input record in its topic."""

    topic: str
    partition: int
    offset: int


class Collector(Protocol):
    """Takes what sinks write; the runner delivers it."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: tuple[tuple[str, bytes | None], ...],
    ) -> None: ...

    def send_batch(self, topic: str, batch: Batch) -> None:
        """`send` for every record of a batch, in order."""
        ...


class TaskContext:
    """One per task. `order` places the records of the current batch; `position` is the current one's row in it.

    `topic` is where the task read the current one, a user's topic or an internal one.
    """

    def __init__(self, task_id: str, collector: Collector, stores: Mapping[str, Any], metrics: Metrics) -> None:
        self.task_id = task_id
        self.collector = collector
        self.metrics = metrics
        self.order: Order
        self.position = 0
        self.topic = ""
        self._stores = stores

    def store(self, name: str) -> Any:
        return self._stores[name]

    def drop(self, operator: str, reason: str, records: int = 1) -> None:
        """Counts records that go no further."""
        self.metrics.dropped(operator, reason, records)
