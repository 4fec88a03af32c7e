"""merge, and the heads of branches."""

from __future__ import annotations

from headrace._core.operator import AnyRecord, Operator


class PassThrough(Operator):
    """Forwards every record unchanged."""

    def process(self, record: AnyRecord) -> None:
        self.forward(record)
