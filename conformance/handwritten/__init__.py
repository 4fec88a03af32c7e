"""Scenarios written by hand: the executed examples of the semantics reference, and rare corner cases."""

from __future__ import annotations

from conformance.handwritten import (
    pipelines,
    processing,
    stores,
    stream_joins,
    streams,
    suppressions,
    table_joins,
    tables,
    windows,
)
from conformance.scenario import Scenario

HANDWRITTEN: dict[str, list[Scenario]] = {
    **streams.SCENARIOS,
    **tables.SCENARIOS,
    **windows.SCENARIOS,
    **suppressions.SCENARIOS,
    **stream_joins.SCENARIOS,
    **table_joins.SCENARIOS,
    **processing.SCENARIOS,
    **stores.SCENARIOS,
    **pipelines.SCENARIOS,
}
