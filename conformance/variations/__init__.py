"""Which random inputs each topology gets: parameter sets, shapes, and how many of each."""

from __future__ import annotations

from conformance.variations import joins, pipelines, processing, streams, tables, windows
from conformance.variations.variation import Variation

VARIATIONS: dict[str, list[Variation]] = {
    **streams.VARIATIONS,
    **tables.VARIATIONS,
    **windows.VARIATIONS,
    **joins.VARIATIONS,
    **processing.VARIATIONS,
    **pipelines.VARIATIONS,
}
