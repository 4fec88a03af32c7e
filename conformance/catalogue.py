"""The catalogue: every topology that was recorded on Kafka Streams, written against Headrace's API.

`TOPOLOGIES[id](**params)` builds the topology that the recorder's method of the same name builds in Java.
`REQUIRES[id]` names the feature that the library still lacks to run a topology. All other topologies must give the
recorded results.
"""

from __future__ import annotations

from conformance.registry import REQUIRES, TOPOLOGIES
from conformance.topologies import (
    aggregations,
    cogroups,
    keyed_joins,
    own_windows,
    patterns,
    pipelines,
    processing,
    repartitions,
    routing,
    stateless,
    stores,
    stream_joins,
    stream_table_joins,
    suppressions,
    table_aggregations,
    table_joins,
    table_self_joins,
    tables,
    timestamps,
    topic_stores,
    transformations,
    versioned_results,
    windows,
)

FAMILIES = (
    stateless,
    aggregations,
    repartitions,
    routing,
    timestamps,
    patterns,
    tables,
    transformations,
    versioned_results,
    table_aggregations,
    windows,
    own_windows,
    suppressions,
    stream_joins,
    stream_table_joins,
    keyed_joins,
    table_joins,
    table_self_joins,
    cogroups,
    processing,
    stores,
    topic_stores,
    pipelines,
)

__all__ = ["FAMILIES", "REQUIRES", "TOPOLOGIES"]
