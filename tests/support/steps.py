"""Runs a topology step by step, and collects the output of each input record."""

from __future__ import annotations

import headrace as hr
from headrace.testing import TopologyTestDriver


def each_step(topology, steps, *, restarts=False, **settings):
    """For each input `(topic, key, value, timestamp_ms)`, the records written to "out", as texts like `k=v@12`.

    With `restarts`, the driver restarts before each step.
    """
    written = []
    with TopologyTestDriver(topology, hr.StreamsConfig(application_id="test", **settings)) as driver:
        for topic, *record in steps:
            if restarts:
                driver.restart()
            driver.input_topic(topic).pipe(*record)
            written.append([as_text(record) for record in driver.output_topic("out").read_all()])
    return written


def as_text(record):
    return f"{record.key}={record.value}@{record.timestamp_ms}"


def slashed(left, right):
    """A joiner that shows both sides."""
    return f"{left}/{right}"
