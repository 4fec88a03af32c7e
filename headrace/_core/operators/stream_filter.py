"""filter and filter_not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator


class StreamFilter(Operator):
    """Forwards the records whose predicate answer is `keep`."""

    def __init__(self, name: str, predicate: Callable[[Any, Any], object], *, keep: bool) -> None:
        super().__init__(name)
        self._predicate = predicate
        self._keep = keep

    def process(self, record: AnyRecord) -> None:
        if bool(self._predicate(record.key, record.value)) is self._keep:
            self.forward(record)
