"""What all aggregations of a grouped stream share."""

from __future__ import annotations

from typing import Any

from headrace._core.operators.aggregation import Aggregation


class StreamAggregation(Aggregation):
    """Drops and counts records without a key or a value."""

    def accepts(self, key: Any, value: Any) -> bool:
        if key is None:
            self.context.drop(self.name, "null key")
            return False
        if value is None:
            self.context.drop(self.name, "null value")
            return False
        return True
