"""Failures within a batch: which record it was, or that it must be found out one by one."""

from __future__ import annotations


class UndecodableError(Exception):
    """Records of a batch cannot be decoded; nothing has been done with any of them."""


class RowError(Exception):
    """A user function raised `cause`, on the record at a position of the task's input."""

    def __init__(self, cause: Exception, position: int) -> None:
        super().__init__(position)
        self.cause = cause
        self.position = position
