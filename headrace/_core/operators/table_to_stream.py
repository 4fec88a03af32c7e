"""to_stream: a table's changes as records."""

from __future__ import annotations

from headrace._core.operator import AnyRecord, Operator


class TableToStream(Operator):
    """Forwards the new value of every change, `None` for a deleted row."""

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value(record.value.new))
