"""What Kafka Streams wrote, record by record, is what we write from Kafka topics to Kafka topics.

The goldens are a sample: scenarios whose records, read and written, all have timestamps that Kafka's C client can
write. It cannot write 0, with which many scenarios begin: those are replayed on embedded topics only. None is shifted.
"""

from __future__ import annotations

import pytest

from conformance.catalogue import REQUIRES
from tests.golden.deviations import expected
from tests.golden.goldens import goldens, ids
from tests.golden.replays import on_spark
from tests.golden.test_goldens import expected_outputs, has_usual_settings, query_id, split_into_queries

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

# A repartition, joins, windows, final results, a punctuation: few stages for many scenarios.
USUAL = [
    "punctuate-stream-time",
    "session-window-count",
    "stream-stream-outer-join",
    "stream-table-join",
    "table-aggregate",
    "time-window-final-count",
]


def writable(golden):
    """Whether Kafka's client can write all records of a golden."""
    written = [record[2] for records in expected(golden).values() for record in records]
    return all(timestamp_ms > 0 for timestamp_ms in [*(step[3] for step in golden.steps), *written])


def replayable(golden):
    return golden.batchable and not golden.depends_on_name_lengths and has_usual_settings(golden) and writable(golden)


def samples():
    """The scenarios of each topology's first variation, distributed over queries; only the first few are not slow."""
    variations = {}
    for topology_id in ids():
        found = [golden for golden in goldens(topology_id) if topology_id not in REQUIRES and replayable(golden)]
        if found:
            variations[topology_id] = [golden for golden in found if golden.params == found[0].params]
    usual = [golden for topology_id in USUAL for golden in variations.pop(topology_id)]
    return [
        pytest.param(usual[::3], id="a few"),
        pytest.param(usual, id="usual", marks=pytest.mark.slow),
        *(
            pytest.param(query, id=query_id(query), marks=pytest.mark.slow)
            for query in split_into_queries(variations.values())
        ),
    ]


@pytest.mark.parametrize("chosen", samples())
def test_kafka_topics_hold_what_kafka_streams_wrote(spark, topics, chosen):
    found, restarts = on_spark(spark, chosen, "cut at random", topics)
    assert found == expected_outputs(chosen, restarts)
