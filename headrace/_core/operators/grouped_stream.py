"""What all aggregations of a grouped stream share."""

from __future__ import annotations

from headrace._core.operator import AnyRecord, Operator


def accepts(record: AnyRecord, operator: Operator) -> bool:
    """Whether a record can be folded in: one without a key or a value is dropped and counted."""
    if record.key is None:
        operator.context.drop(operator.name, "null key")
        return False
    if record.value is None:
        operator.context.drop(operator.name, "null value")
        return False
    return True
