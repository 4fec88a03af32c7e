"""peek, for_each and print: call something for every record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator


class StreamPeek(Operator):
    """Calls the action, then forwards the record."""

    def __init__(self, name: str, action: Callable[[Any, Any], object]) -> None:
        super().__init__(name)
        self._action = action

    def process(self, record: AnyRecord) -> None:
        self._action(record.key, record.value)
        self.forward(record)


class StreamForEach(Operator):
    """Calls the action; the record ends here."""

    def __init__(self, name: str, action: Callable[[Any, Any], object]) -> None:
        super().__init__(name)
        self._action = action

    def process(self, record: AnyRecord) -> None:
        self._action(record.key, record.value)


class StreamPrint(Operator):
    """Prints `[label]: key, value`, nulls as Kafka Streams prints them."""

    def __init__(self, name: str, label: str) -> None:
        super().__init__(name)
        self._label = label

    def process(self, record: AnyRecord) -> None:
        print(f"[{self._label}]: {_shown(record.key)}, {_shown(record.value)}")


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)
