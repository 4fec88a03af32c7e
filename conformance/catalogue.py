"""The catalogue: every topology that was recorded on Kafka Streams, written against Headrace's API.

`TOPOLOGIES[id](**params)` builds the topology that the recorder's method of the same name builds in Java.
`REQUIRES[id]` names the capability an id still waits for; ids that are not in it give the recorded results today.
"""

from __future__ import annotations

from conformance.registry import REQUIRES, TOPOLOGIES
from conformance.topologies import aggregations, repartitions, stateless, timestamps

FAMILIES = (stateless, aggregations, repartitions, timestamps)

__all__ = ["FAMILIES", "REQUIRES", "TOPOLOGIES"]
