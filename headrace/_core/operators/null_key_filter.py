"""The filter in front of a repartition."""

from __future__ import annotations

from headrace._core.operator import AnyRecord, Operator


class NullKeyFilter(Operator):
    """Drops records without a key: they have no partition to go to."""

    def process(self, record: AnyRecord) -> None:
        if record.key is None:
            self.context.drop(self.name, "null key")
        else:
            self.forward(record)
