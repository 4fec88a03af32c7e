"""peek, for_each and print: call something for every record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace._core.operators.functions import FunctionOperator, Take, to_all


class StreamPeek(FunctionOperator):
    """Calls the action, then forwards the record."""

    def __init__(self, name: str, action: Callable[[Any, Any], object]) -> None:
        super().__init__(name)
        self._action = action

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            self._action(key, value)
            forward(key, value)

        return take


class StreamForEach(FunctionOperator):
    """Calls the action; forwards nothing."""

    def __init__(self, name: str, action: Callable[[Any, Any], object]) -> None:
        super().__init__(name)
        self._action = action

    def bind(self, children: Sequence[Take]) -> Take:  # noqa: ARG002
        def take(key: Any, value: Any) -> None:
            self._action(key, value)

        return take


class StreamPrint(FunctionOperator):
    """Prints `[label]: key, value`, nulls as Kafka Streams prints them."""

    def __init__(self, name: str, label: str) -> None:
        super().__init__(name)
        self._label = label

    def bind(self, children: Sequence[Take]) -> Take:  # noqa: ARG002
        def take(key: Any, value: Any) -> None:
            print(f"[{self._label}]: {_text(key)}, {_text(value)}")

        return take


def _text(value: Any) -> str:
    return "null" if value is None else str(value)
