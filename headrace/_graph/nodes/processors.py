"""Nodes that run the user's processors."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._graph.nodes.base import Node
from headrace.model.processor import ProcessorFactory


@dataclass(frozen=True, kw_only=True)
class Process(Node):
    """Runs a user's processor; with `fixed_key`, the processor cannot change the key.

    If `is_global`, it maintains a global store, and runs in each task that reads the store. `maintains` is the store
    that only this processor may write, and others may read; `read_only` are those of `stores` that it may only read.
    """

    factory: ProcessorFactory
    fixed_key: bool = False
    is_global: bool = False
    maintains: str | None = None
    read_only: tuple[str, ...] = ()
