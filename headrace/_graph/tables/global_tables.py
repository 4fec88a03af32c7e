"""Global tables among the stages: each stage that reads one has all of it, so there is no stage of the table itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from headrace._graph.graph import Graph, SubTopology

P = TypeVar("P")


def replicated(graph: Graph, stages: Mapping[P, SubTopology]) -> dict[P, SubTopology]:
    """The stages with the nodes of the global tables they read; a table that none reads is a stage by itself."""
    used = {place: _tables_of(stage, graph) for place, stage in stages.items()}
    read = {table.number for tables in used.values() for table in tables}
    return {
        place: replace(stage, nodes=(*(node for table in used[place] for node in table.nodes), *stage.nodes))
        for place, stage in stages.items()
        if not (stage.is_global and stage.number in read)
    }


def _tables_of(stage: SubTopology, graph: Graph) -> list[SubTopology]:
    names = dict.fromkeys(store for node in stage.nodes for store in node.global_stores)
    return [graph.global_tables[name] for name in names]
