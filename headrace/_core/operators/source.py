"""Where records enter a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headrace._core.operator import AnyRecord, Operator
from headrace.serdes import Serde


class Source(Operator):
    """Decodes input records; the task then forwards them one after another."""

    def __init__(self, name: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        super().__init__(name)
        self.key_serde = key_serde
        self.value_serde = value_serde

    def decode(
        self, keys: Sequence[bytes | None], values: Sequence[bytes | None]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        return self.key_serde.deserialize_many(keys), self.value_serde.deserialize_many(values)

    def accepts(self, records: pa.RecordBatch) -> bool:
        """Whether all records of a batch can be decoded."""
        return self.key_serde.accepts_all(records.column("key")) and self.value_serde.accepts_all(
            records.column("value")
        )

    def process(self, record: AnyRecord) -> None:
        self.forward(record)
