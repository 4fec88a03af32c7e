"""peek, for_each and print: call something for every record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headrace._core.operators.functions import CallingOperator, FunctionOperator, Take, to_all


class StreamPeek(CallingOperator[Callable[[Any, Any], object]]):
    """Calls the action, then forwards the record."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            self._function(key, value)
            forward(key, value)

        return take


class StreamForEach(CallingOperator[Callable[[Any, Any], object]]):
    """Calls the action; forwards nothing."""

    def bind(self, children: Sequence[Take]) -> Take:  # noqa: ARG002
        def take(key: Any, value: Any) -> None:
            self._function(key, value)

        return take


class StreamPrint(FunctionOperator):
    """Prints `[label]: key, value`, or after the label what the mapper returns; nulls as Kafka Streams prints them.

    With a file, each line is appended by one write, so that lines of several tasks do not mix.
    """

    def __init__(
        self, name: str, label: str, mapper: Callable[[Any, Any], object] | None = None, file: Path | None = None
    ) -> None:
        super().__init__(name)
        self._label = label
        self._mapper = mapper or _key_and_value
        self._file = file

    def bind(self, children: Sequence[Take]) -> Take:  # noqa: ARG002
        def take(key: Any, value: Any) -> None:
            line = f"[{self._label}]: {_text(self._mapper(key, value))}"
            if self._file is None:
                print(line)
            else:
                _append(self._file, line)

        return take


def _key_and_value(key: Any, value: Any) -> str:
    return f"{_text(key)}, {_text(value)}"


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


def _append(file: Path, line: str) -> None:
    # Opened anew for each line: a task does not know when its last record was processed.
    with file.open("ab", buffering=0) as opened:
        opened.write(f"{line}\n".encode())
