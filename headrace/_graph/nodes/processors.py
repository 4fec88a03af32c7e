"""Nodes that run the user's processors."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._graph.nodes.base import Node
from headrace.model.processor import ProcessorFactory


@dataclass(frozen=True, kw_only=True)
class Process(Node):
    """Runs a user's processor; with `fixed_key`, it cannot change the key."""

    factory: ProcessorFactory
    fixed_key: bool = False
