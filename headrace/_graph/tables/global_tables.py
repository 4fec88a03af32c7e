"""Adds global tables to the stages that read them: each such stage has the whole table in all its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from headrace._graph.graph import Graph, SubTopology

K = TypeVar("K")


def add_global_tables(graph: Graph, stages: Mapping[K, SubTopology]) -> dict[K, SubTopology]:
    """Adds the nodes of global tables to the stages that read them; a table that no stage reads stays a stage."""
    used = {key: _tables_of(stage, graph) for key, stage in stages.items()}
    read = {table.number for tables in used.values() for table in tables}
    return {
        key: replace(stage, nodes=(*(node for table in used[key] for node in table.nodes), *stage.nodes))
        for key, stage in stages.items()
        if not (stage.is_global and stage.number in read)
    }


def _tables_of(stage: SubTopology, graph: Graph) -> list[SubTopology]:
    names = dict.fromkeys(store for node in stage.nodes for store in node.global_stores)
    return [graph.global_tables[name] for name in names]
