"""Nodes that run the user's processors."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._graph.nodes.base import Node
from headrace.model.processor import ProcessorFactory


@dataclass(frozen=True, kw_only=True)
class Process(Node):
    """Runs a user's processor; with `fixed_key`, it cannot change the key.

    If `is_global`, it maintains a global store: each task that reads the store has the processor. `maintains` is the
    read-only store that it alone may write; `read_only` are those of `stores` that it may only read.
    """

    factory: ProcessorFactory
    fixed_key: bool = False
    is_global: bool = False
    maintains: str | None = None
    read_only: tuple[str, ...] = ()
