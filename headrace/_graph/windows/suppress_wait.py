"""How long `suppress()` waits after the end of a window: as long as the aggregations before it accept late records."""

from __future__ import annotations

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import WindowedAggregate
from headrace.errors import TopologyError
from headrace.model.time.windows import AnyWindows, UnlimitedWindows


def close_wait_ms(graph: GraphBuilder, table: str) -> int:
    """How long after its end a window of a table may still change; of several aggregations, the longest time.

    Raises:
        TopologyError: if some rows of the table come from no windowed aggregation, or their windows never close.
    """
    waits = []
    pending, seen = [table], {table}
    while pending:
        node = graph.node(pending.pop())
        if isinstance(node, WindowedAggregate):
            waits.append(_wait_ms(node.windows, node.name, table))
            continue
        parents = graph.before(node)
        if not parents:
            message = (
                f"suppress() of {table}: Suppressed.until_window_closes() needs windows, but the table comes from "
                f"{node.name} without a windowed aggregation in between. Use "
                "windowed_by(...) before the aggregation, or Suppressed.until_time_limit(...)."
            )
            raise TopologyError(message)
        pending += [parent for parent in parents if parent not in seen]
        seen.update(parents)
    return max(waits)


def _wait_ms(windows: AnyWindows, aggregation: str, table: str) -> int:
    if isinstance(windows, UnlimitedWindows):
        message = (
            f"suppress() of {table}: Suppressed.until_window_closes() cannot be used with the unlimited windows of "
            f"{aggregation}, which never close. Use windows that end, or Suppressed.until_time_limit(...)."
        )
        raise TopologyError(message)
    return windows.wait_ms
