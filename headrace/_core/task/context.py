"""What a task gives its operators: stores, the place of the current input record, counters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from headrace._core.columnar.batch import Batch
from headrace._core.metrics import Metrics
from headrace._core.task.order import CLOCK, Order, concatenated
from headrace._core.time.punctuation import Agenda
from headrace.model.processor import RecordMetadata
from headrace.model.record import Headers

if TYPE_CHECKING:
    from headrace._core.errors.policy import ErrorPolicy
    from headrace._core.task.chunk import RecordColumns

S = TypeVar("S")

_NOWHERE = RecordMetadata(None, -1, -1)


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


class SourceRecord(NamedTuple):
    """A record as a task read it, undecoded, and the place of the input record behind it.

    `recorded_ms` is its timestamp in the topic, `timestamp_ms` its event time.
    """

    metadata: RecordMetadata
    timestamp_ms: int
    recorded_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass
class TaskContext:
    """One per task. `order` places the records of the current batch; `position` is the current one's row in it.

    `topic` is where the task read it, a user's topic or an internal one, and `columns` what it read; the current record
    is row `position + row_shift` of them. `places` are topic and partition by `Order.source`. `tables` are the rows of
    those that operators look up, by name, `global_tables` what processors may read, by store. Times and `agenda` are
    for tasks with processors; the runner sets `system_time_ms`. While something fires by a clock, and not for a record,
    `fired_ms` is what the clock shows.
    """

    task_id: str
    application_id: str
    collector: Collector
    stores: Mapping[str, Any]
    known_stores: Collection[str]
    metrics: Metrics
    places: Sequence[tuple[str, int]]
    tables: Mapping[str, Any] = field(default_factory=dict)
    system_time_ms: int = 0
    global_tables: Mapping[str, Any] = field(default_factory=dict)
    stream_time_ms: int = -1
    fired_ms: int | None = None
    position: int = 0
    topic: str = ""
    order: Order = field(default_factory=Order.of_nothing)
    row_shift: int = 0
    columns: RecordColumns = field(init=False)
    agenda: Agenda = field(init=False)
    errors: ErrorPolicy = field(init=False)
    _shared: dict[str, Any] = field(default_factory=dict)
    _noted: dict[str, dict[Any, Any]] = field(default_factory=dict, init=False)
    _noted_at: tuple[int, ...] = field(default=(), init=False)

    def store(self, name: str) -> Any:
        return self.stores[name]

    def shared(self, name: str, make: Callable[[], S]) -> S:
        """What several operators of the task have in common, made by the first that asks."""
        if name not in self._shared:
            self._shared[name] = make()
        found: S = self._shared[name]
        return found

    def noted(self, name: str) -> dict[Any, Any]:
        """What was noted under a name since the first record that follows from the current input record.

        All that follows from an input record is processed in one batch, so that notes need not be kept.
        """
        order, position = self.order, self.position
        at = (int(order.time_ms[position]), int(order.source[position]), int(order.offset[position]))
        if at != self._noted_at:
            self._noted_at = at
            self._noted = {}
        return self._noted.setdefault(name, {})

    @property
    def record_metadata(self) -> RecordMetadata:
        """The place of the input record that is being processed."""
        if self.fired_ms is not None or self.position >= len(self.order.offset):
            return _NOWHERE
        return self.metadata_at(self.order, self.position)

    @property
    def source_record(self) -> SourceRecord:
        """The record that is being processed; for what a clock fires, one without key, value and place."""
        if self.fired_ms is not None:
            return SourceRecord(_NOWHERE, self.fired_ms, self.fired_ms, None, None, ())
        columns, row = self.columns, self.position + self.row_shift
        recorded = columns.timestamps if columns.recorded is None else columns.recorded
        return SourceRecord(
            self.record_metadata,
            columns.timestamps[row],
            recorded[row],
            columns.keys[row],
            columns.values[row],
            columns.headers[row] if columns.headers else (),
        )

    def append(self, order: Order) -> int:
        """Places more records of the batch, behind those that are placed; returns the position of the first."""
        first = len(self.order.offset)
        self.order = concatenated([self.order, order]) if first else order
        return first

    def metadata_at(self, order: Order, position: int) -> RecordMetadata:
        source = int(order.source[position])
        return _NOWHERE if source == CLOCK else RecordMetadata(*self.places[source], int(order.offset[position]))

    def drop(self, operator: str, reason: str, records: int = 1) -> None:
        """Counts records that go no further."""
        self.metrics.dropped(operator, reason, records)
