"""Where records enter a task."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from headrace._core.operator import AnyRecord, Operator
from headrace._state.composite import MAX_TIME
from headrace.errors import ProcessingError
from headrace.record import Headers, Record
from headrace.serdes import Serde

_REASON = "timestamp too far ahead"
_log = logging.getLogger(__name__)


class TimestampGuard(NamedTuple):
    """How far ahead of the wall clock a timestamp may be, and what becomes of a record beyond: `handler`."""

    ahead_ms: int
    handler: str


class Source(Operator):
    """Decodes input records; the task then forwards them one after another, but for those that it refuses."""

    def __init__(
        self,
        name: str,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        guard: TimestampGuard | None = None,
        dead_letters: str | None = None,
    ) -> None:
        super().__init__(name)
        self.key_serde = key_serde
        self.value_serde = value_serde
        self._guard = guard
        self._dead_letters_name = dead_letters
        self._dead_letters: Operator | None = None

    def connect(self, children: Sequence[Operator]) -> None:
        self._dead_letters = next((child for child in children if child.name == self._dead_letters_name), None)
        super().connect([child for child in children if child is not self._dead_letters])

    def decode(
        self, keys: Sequence[bytes | None], values: Sequence[bytes | None]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        return self.key_serde.deserialize_many(keys), self.value_serde.deserialize_many(values)

    def accepts(self, records: pa.RecordBatch) -> bool:
        """Whether all records of a batch can be decoded."""
        return self.key_serde.accepts_all(records.column("key")) and self.value_serde.accepts_all(
            records.column("value")
        )

    @property
    def latest_ms(self) -> int:
        """The highest timestamp that a record may have, by the clock of the batch."""
        return MAX_TIME if self._guard is None else self.context.system_time_ms + self._guard.ahead_ms

    def refuse(
        self, key: bytes | None, value: bytes | None, timestamp_ms: int, recorded_ms: int, headers: Headers
    ) -> None:
        """Handles the current record, whose timestamp is beyond `latest_ms`; its topic has it at `recorded_ms`.

        Raises:
            ProcessingError: if that is how such records are handled.
        """
        assert self._guard is not None
        topic, partition, offset = self.context.record_metadata
        clock_ms = self.context.system_time_ms
        told = (
            f"record {topic}-{partition}@{offset}: its timestamp {timestamp_ms} is {timestamp_ms - clock_ms} ms ahead "
            f"of the wall clock {clock_ms}, and max_timestamp_ahead allows {self._guard.ahead_ms} ms"
        )
        if self._guard.handler == "fail":
            message = (
                f"{self.name} refuses {told}. Mend the timestamp where the record is made or with a "
                "timestamp_extractor, or take such records out with timestamp_ahead_handler='skip' or 'dead_letter'."
            )
            raise ProcessingError(message)
        self.context.drop(self.name, _REASON)
        _log.warning("%s drops %s.", self.name, told)
        if self._dead_letters is not None:
            why = {
                "reason": _REASON,
                "topic": topic,
                "partition": partition,
                "offset": offset,
                "timestamp": timestamp_ms,
            }
            added = tuple((f"headrace.error.{name}", str(what).encode()) for name, what in why.items())
            self._dead_letters.process(Record(key, value, recorded_ms, (*headers, *added)))

    def process(self, record: AnyRecord) -> None:
        self.forward(record)
