"""With the record cache, the test driver writes what Kafka Streams wrote with its cache."""

from __future__ import annotations

import pytest

from conformance.catalogue import REQUIRES
from tests.golden.deviations import expected
from tests.golden.goldens import goldens, ids
from tests.golden.replays import on_driver

CACHE = 10 * 1024 * 1024

# Headrace writes the last of the updates that it writes without the cache. Kafka Streams differs with its cache in the
# timestamps of deletions (quirk 9), in sessions that are read although they have expired (quirk 5), and in the ends of
# windows of one's own: its cache takes all for as long as the longest.
LAST_OF_UNCACHED = {
    "aggregate-delete",
    "cogroup-three",
    "own-window-aggregate",
    "own-window-count",
    "own-window-reduce",
    "reduce-delete",
    "session-window-aggregate",
    "session-window-count",
    "session-window-reduce",
    "suppress-session-window",
    "time-window-aggregate-delete",
}
# They differ without the cache, too (`deviations.py`), and the cache changes nothing in them.
AS_UNCACHED = {"sliding-window-final-count", "suppress-time-window-and-aggregate"}
# Their expected output without the cache is derived from Headrace itself, so it would be with the cache.
UNDERIVABLE = {"suppress-and-aggregate", "suppress-and-join"}
# Scenarios with an expired session whose updates a filter hides: the last ones cannot be told from what is written.
HIDDEN = {("session-window-filtered-count", f"gap=5 grace=8 random {number}") for number in (1, 4)}


def cached():
    """The topologies that were recorded with the cache, too."""
    recorded = [one for one in ids() if one not in REQUIRES and one not in UNDERIVABLE]
    return [one for one in recorded if any(golden.cached_outputs for golden in goldens(one))]


def last_updates(golden, outputs):
    """For each step, the last of the recorded updates of each row, without deletions of rows that were not written."""
    written = {}
    for topic, records in outputs.items():
        known, written[topic] = set(), []
        by_step = {}
        for record, cause in zip(records, golden.causes[topic], strict=True):
            rows = by_step.setdefault(cause, {})
            rows.pop(str(record[0]), None)
            rows[str(record[0])] = record
        for rows in by_step.values():
            for row, record in rows.items():
                if record[1] is not None or row in known:
                    written[topic].append(record)
                (known.discard if record[1] is None else known.add)(row)
    return written


def expected_with_cache(golden):
    if golden.id in AS_UNCACHED:
        return expected(golden)
    if golden.id in LAST_OF_UNCACHED:
        return last_updates(golden, expected(golden))
    if golden.id == "table-reduce":
        return with_uncached_deletion_times(golden)
    return golden.cached_outputs


def with_uncached_deletion_times(golden):
    """What was recorded with the cache, but with deletions at the times that they have without it."""
    written = {}
    for topic, records in golden.cached_outputs.items():
        uncached = iter(golden.outputs[topic])
        written[topic] = [next(one for one in uncached if one[:2] == record[:2]) for record in records]
    return written


@pytest.mark.parametrize("topology_id", cached())
def test_driver_with_the_record_cache_writes_what_kafka_streams_wrote_with_its_cache(topology_id):
    recorded = [golden for golden in goldens(topology_id) if golden.cached_outputs]
    chosen = [golden for golden in recorded if (golden.id, golden.name) not in HIDDEN]
    found = {golden.name: on_driver(golden, "record by record", statestore_cache_max_bytes=CACHE) for golden in chosen}
    assert found == {golden.name: expected_with_cache(golden) for golden in chosen}
