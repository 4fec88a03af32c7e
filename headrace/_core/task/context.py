"""What a task offers its operators: stores, the position of the current input record, counters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec

from headrace._core.columnar.batch import Batch
from headrace._core.drop_reasons import DropReason
from headrace._core.metrics import Metrics
from headrace._core.task.order import CLOCK, Order, concatenated
from headrace._core.time.punctuation import Agenda
from headrace._state.bytes.api import ByteStore
from headrace.model.processor import RecordMetadata
from headrace.model.record import Headers
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace._core.errors.policy import ErrorPolicy
    from headrace._core.task.chunk import RecordColumns

S = TypeVar("S")

_NOWHERE = RecordMetadata(topic=None, partition=-1, offset=-1)


class Collector(Protocol):
    """Receives the output of sinks, which the runner delivers."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: tuple[tuple[str, bytes | None], ...],
        partition: int | None = None,
    ) -> None:
        """Writes a record to `partition`, or if that is `None`, to the partition of its key."""
        ...

    def send_batch(self, topic: str, batch: Batch) -> None:
        """`send` for every record of a batch, in order."""
        ...

    def partitions_of(self, topic: str) -> int:
        """The number of partitions of a topic that the topology names."""
        ...

    def open_topic(self, topic: str) -> int:
        """Returns the number of partitions of a topic that a function chose. Creates a missing topic if allowed.

        Raises:
            RoutingError: if the application may not write to it.
        """
        ...


class SourceRecord(NamedTuple):
    """A record as a task read it, undecoded; `metadata` is that of the input record it descends from.

    `recorded_ms` is its timestamp in the topic, `timestamp_ms` its event time.
    """

    metadata: RecordMetadata
    timestamp_ms: int
    recorded_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Moment(msgspec.Struct, gc=False):
    """What a task was processing: a record, or a punctuation or idle key, which a clock causes.

    `fired_ms` is the time of that clock, `None` for a record. `columns` and `row_shift` locate the bytes of the record,
    if the task retains them for dead letters.
    """

    position: int
    fired_ms: int | None
    topic: str
    columns: RecordColumns | None
    row_shift: int


class ProcessorSettings(NamedTuple):
    """The settings of the application that processors can read."""

    app_configs: Mapping[str, Any]
    key_serde: Serde[Any]
    value_serde: Serde[Any]
    state_dir: Path


@dataclass
class TaskContext:
    """The state that the operators of one task share.

    Attributes:
        order: the order of all records of the current batch.
        position: the row of the current record in `order`.
        topic: the topic, of a user or internal, from which the task read the current record.
        columns: the chunk that holds the current record, at row `position + row_shift`.
        places: topic and partition by the number in `Order.source`.
        tables: the rows of tables that joins look up, by name.
        read_only_stores: the stores that processors can only read: of global tables, or written by another processor.
        system_time_ms: the wall clock of the batch, set by the runner.
        stream_time_ms: the task's stream time; like `agenda`, only for tasks with processors.
        processor_store: the store in which the task keeps what its processors need; only for tasks with processors.
        settings: the settings that processors can read; only for tasks with processors.
        fired_ms: the time of the clock while a punctuation or an idle key is handled; `None` while a record is.
        retains_columns: whether `moment` includes the bytes of the record, because an error handler may need them.
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
    read_only_stores: Mapping[str, Any] = field(default_factory=dict)
    stream_time_ms: int = -1
    fired_ms: int | None = None
    retains_columns: bool = False
    position: int = 0
    topic: str = ""
    order: Order = field(default_factory=Order.of_nothing)
    row_shift: int = 0
    columns: RecordColumns = field(init=False)
    agenda: Agenda = field(init=False)
    processor_store: ByteStore = field(init=False)
    settings: ProcessorSettings = field(init=False)
    errors: ErrorPolicy = field(init=False)
    _shared: dict[str, Any] = field(default_factory=dict)
    _scratchpads: dict[str, dict[Any, Any]] = field(default_factory=dict, init=False)
    _scratchpads_at: tuple[int, ...] = field(default=(), init=False)

    def store(self, name: str) -> Any:
        return self.stores[name]

    def shared(self, name: str, make: Callable[[], S]) -> S:
        """An object that several operators of the task share; the first of them creates it with `make`."""
        if name not in self._shared:
            self._shared[name] = make()
        shared: S = self._shared[name]
        return shared

    def scratchpad(self, name: str) -> dict[Any, Any]:
        """A dict for an operator's notes about the current input record; it is empty again for the next one.

        It needs no store: everything that follows from an input record is processed in the same batch.
        """
        order, position = self.order, self.position
        at = (int(order.time_ms[position]), int(order.source[position]), int(order.offset[position]))
        if at != self._scratchpads_at:
            self._scratchpads_at = at
            self._scratchpads = {}
        return self._scratchpads.setdefault(name, {})

    @property
    def record_metadata(self) -> RecordMetadata:
        """Topic, partition and offset of the current input record; the topic is `None` if a clock fired instead."""
        if self.fired_ms is not None or self.position >= len(self.order.offset):
            return _NOWHERE
        return self.metadata_at(self.order, self.position)

    @property
    def source_record(self) -> SourceRecord:
        """The record that is being processed. If a clock fired instead, a record at its time without key and value."""
        if self.fired_ms is not None:
            return SourceRecord(
                metadata=_NOWHERE,
                timestamp_ms=self.fired_ms,
                recorded_ms=self.fired_ms,
                key=None,
                value=None,
                headers=(),
            )
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

    def moment(self) -> Moment:
        """What the task is processing, to return to it later in the same batch."""
        columns = getattr(self, "columns", None) if self.retains_columns and self.fired_ms is None else None
        return Moment(self.position, self.fired_ms, self.topic, columns, self.row_shift)

    def return_to(self, moment: Moment) -> None:
        """Returns to an earlier moment: records forwarded next count as caused by what was processed then."""
        self.position, self.fired_ms = moment.position, moment.fired_ms
        self.topic, self.row_shift = moment.topic, moment.row_shift
        if moment.columns is not None:
            self.columns = moment.columns

    def append(self, order: Order) -> int:
        """Appends more records of the batch to `self.order`; returns the position of the first of them."""
        first = len(self.order.offset)
        self.order = concatenated([self.order, order]) if first else order
        return first

    def metadata_at(self, order: Order, position: int) -> RecordMetadata:
        source = int(order.source[position])
        return _NOWHERE if source == CLOCK else RecordMetadata(*self.places[source], int(order.offset[position]))

    def drop(self, operator: str, reason: DropReason, records: int = 1) -> None:
        """Counts records that an operator drops."""
        self.metrics.dropped(operator, reason, records)
