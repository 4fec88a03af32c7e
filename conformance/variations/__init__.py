"""The random scenarios of each topology: parameters, shapes of the input, and how many."""

from __future__ import annotations

from conformance.variations import joins, patterns, pipelines, processing, stores, streams, tables, windows
from conformance.variations.variation import Variation

VARIATIONS: dict[str, list[Variation]] = {
    **streams.VARIATIONS,
    **patterns.VARIATIONS,
    **tables.VARIATIONS,
    **windows.VARIATIONS,
    **joins.VARIATIONS,
    **processing.VARIATIONS,
    **stores.VARIATIONS,
    **pipelines.VARIATIONS,
}
