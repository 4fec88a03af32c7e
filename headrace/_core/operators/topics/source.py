"""Sources, where records enter a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord, Operator
from headrace._state.bytes.composite import MAX_TIME
from headrace.errors import ProcessingError
from headrace.serdes import Serde


class TimestampGuard(NamedTuple):
    """How far ahead of the wall clock a timestamp may be, and what happens to records beyond.

    `handler` is "fail", "continue" or "dead_letter".
    """

    ahead_ms: int
    handler: str


class Source(Operator):
    """The entry of records into a task: has their serdes, and rejects timestamps too far ahead of the wall clock.

    Args:
        name: name of the operator.
        key_serde: reads the keys of all topics that are not in `by_topic`.
        value_serde: reads their values.
        guard: rejects timestamps that are too far ahead; `None` accepts all.
        by_topic: serdes for the keys and the values of topics that have their own.
    """

    def __init__(
        self,
        name: str,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        guard: TimestampGuard | None = None,
        by_topic: Mapping[str, tuple[Serde[Any], Serde[Any]]] | None = None,
    ) -> None:
        super().__init__(name)
        self.key_serde = key_serde
        self.value_serde = value_serde
        self._guard = guard
        self._by_topic = by_topic or {}

    def serdes_of(self, topic: str) -> tuple[Serde[Any], Serde[Any]]:
        """The serdes for the keys and the values of one of the source's topics."""
        return self._by_topic.get(topic, (self.key_serde, self.value_serde))

    def has_plain_serdes(self, topic: str) -> bool:
        """Whether a topic is read with `key_serde` and `value_serde`, without headers. Batch forms need this."""
        own = self.key_serde, self.value_serde
        return self.serdes_of(topic) == own and not any(serde.uses_headers for serde in own)

    def checked(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """Checks that all records of a batch can be decoded. Returns it with nulls for what decodes to `None`.

        Raises:
            SerdeError: if a record cannot be decoded.
        """
        for name, serde in (("key", self.key_serde), ("value", self.value_serde)):
            column = records.column(name)
            checked = serde.checked(column)
            if checked is not column:
                records = records.set_column(records.schema.get_field_index(name), name, checked)
        return records

    @property
    def latest_ms(self) -> int:
        """The highest timestamp that a record may have, by the clock of the batch."""
        return MAX_TIME if self._guard is None else self.context.system_time_ms + self._guard.ahead_ms

    def refuse(self) -> None:
        """Handles the current record, whose timestamp is after `latest_ms`: drops it, unless the handler is "fail".

        Raises:
            ProcessingError: if the handler is "fail".
        """
        assert self._guard is not None
        ahead_ms, handler = self._guard
        (topic, partition, offset), timestamp_ms, *_ = self.context.source_record
        clock_ms = self.context.system_time_ms
        problem = (
            f"its timestamp {timestamp_ms} is {timestamp_ms - clock_ms} ms ahead of the wall clock {clock_ms}, and "
            f"max_timestamp_ahead allows {ahead_ms} ms"
        )
        if handler == "fail":
            message = (
                f"{self.name} refuses record {topic}-{partition}@{offset}: {problem}. Fix the timestamp where the "
                "record is produced or with a timestamp_extractor, or drop such records with "
                "timestamp_ahead_handler='continue' or 'dead_letter'."
            )
            raise ProcessingError(message)
        self.context.errors.drop_refused(
            self.name, DropReason.TIMESTAMP_AHEAD, ProcessingError(problem), dead_letter=handler == "dead_letter"
        )

    def process(self, record: AnyRecord) -> None:
        self.forward(record)
