"""Stores that a processor maintains from a topic, stores that processors declare, headers that a processor edits."""

from __future__ import annotations

import headrace as hr
from conformance import processors as p
from conformance.registry import topology


@topology("global-store")
def global_store(builder: hr.StreamsBuilder) -> None:
    """Looks up rows by the first letter of the value, in a store that is complete in every task."""
    builder.add_global_store(p.texts("rows"), "table", p.Collecting)
    builder.stream("stream").process(p.LookingUpHead, stores=["rows"]).to("out")


@topology("read-only-store")
def read_only_store(builder: hr.StreamsBuilder) -> hr.Topology:  # noqa: ARG001
    """Looks up rows by key, in a store that is partitioned like its topic."""
    built = hr.Topology()
    built.add_source("source", "stream")
    built.add_processor("look", p.LookingUpKey, parents=["source"])
    built.add_read_only_state_store(p.texts("rows"), "table", "table", "keep", p.Collecting)
    built.connect_processor_and_state_stores("look", "rows")
    built.add_sink("sink", "out", parents=["look"])
    return built


@topology("process-declared-stores")
def declared_stores(builder: hr.StreamsBuilder) -> None:
    """Two processors declare the same store: records of "in" write to it, records of "other" read it."""
    builder.stream("in").process(p.DeclaringWriter)
    builder.stream("other").process(p.DeclaringReader).to("out")


@topology("process-edit-headers")
def edit_headers(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").process(p.Editing).to("out")
