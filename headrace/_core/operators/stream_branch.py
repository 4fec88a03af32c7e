"""split: each record to the first branch that takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace._core.operator import AnyRecord, Operator


class StreamBranch(Operator):
    """Children are the branches, in order; a predicate of `None` takes everything."""

    def __init__(self, name: str, predicates: Sequence[Callable[[Any, Any], object] | None]) -> None:
        super().__init__(name)
        self._predicates = tuple(predicates)

    def process(self, record: AnyRecord) -> None:
        for predicate, child in zip(self._predicates, self.children, strict=True):
            if predicate is None or predicate(record.key, record.value):
                child.process(record)
                return
        self.context.drop(self.name, "no branch")
