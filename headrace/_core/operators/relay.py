"""Both ends of a relay: the records of several nodes on one way to a later stage, in the order they were made in."""

from __future__ import annotations

from headrace._core.operator import AnyRecord, Operator


class HandOver(Operator):
    """Tells the records of one node from those of the others."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self._number = number

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value((self._number, record.value)))


class TakeOver(Operator):
    """Takes out the records of one node."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self._number = number

    def process(self, record: AnyRecord) -> None:
        number, value = record.value
        if number == self._number:
            self.forward(record.with_value(value))
