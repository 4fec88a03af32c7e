"""Runs one task on its batch forms or on the record path, to test that both give the same results."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace._core.metrics import Metrics
from headrace._core.task.chunk import Chunk
from headrace._core.task.order import Order
from headrace._graph.configured import configured
from headrace._runtime.assemble import blueprints
from headrace._runtime.spark.planning.plan import make_plan
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.collector import FrameCollector
from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore

KEYS = {
    "string": (serdes.String(), st.sampled_from(["a", "b", "ü", ""])),
    "long": (serdes.Long(), st.integers(-2, 2)),
    "bytes": (serdes.Bytes(), st.binary(max_size=2)),
}


def records(keys):
    return st.lists(
        st.tuples(
            st.none() | keys,
            st.none() | st.integers(0, 3) | st.just(b" null"),
            st.integers(0, 40) | st.sampled_from([2**62, 2**61]),
            st.sampled_from([(), (("h", b"1"),)]),
        ),
        max_size=30,
    )


def run(topology, chunks, key_serde, *, columnar, has_form=True, **settings):
    """Runs a task, and returns its outputs with their order, the contents of its stores, and its counters.

    Each batch of `chunks` is a list of chunks, optionally after the name of their topic. Values in bytes are written as
    they are, others as JSON. `has_form` says whether the topology has a batch form.
    """
    config = hr.StreamsConfig(application_id="t", topics_dir="unused", **settings)
    graph = configured(topology._graph, config)
    plan = make_plan(graph, config, dict.fromkeys(graph.source_topics, 4), spark_partitions=1, instance="i", epoch=1)
    (blueprint,) = blueprints(graph, config)
    metrics, collector = Metrics(), FrameCollector(plan, 0, 0, 0)
    stores = {name: OverlayStore(MemoryStore()) for name in blueprint.stores}
    task = blueprint.make_task(0, stores, collector, metrics, plan.places, columnar=columnar)
    assert bool(task._forms) is (columnar and has_form)
    collector.context = task.context
    written = []
    offset = 0
    for batch in chunks:
        parts = []
        topic, *batch_parts = batch if isinstance(batch[0], str) else ("in", *batch)
        for source, part in enumerate(batch_parts):
            columns = frames.from_columns(
                [key_serde.serialize(key) for key, *_ in part],
                [value if isinstance(value, bytes) else serdes.Json().serialize(value) for _, value, *_ in part],
                [timestamp_ms for _, _, timestamp_ms, _ in part],
                [headers for *_, headers in part],
            )
            order = Order.of_partition(source, offset, np.array([t for _, _, t, _ in part], np.int64))
            times = np.array([t for _, _, t, _ in part], np.int64)
            parts.append(Chunk(topic, order, times, lambda c=columns: frames.to_columns(c), lambda c=columns: c))
            offset += len(part)
        for _ in task.process(parts):
            written += collector.drain()
        written += collector.finish()
    outputs = {}
    for frame in written:
        rows = frames.decode(frame.payload).to_pylist()
        order, _ = frames.decode_order(frame.payload)
        places = zip(*(column.tolist() for column in order), strict=True)
        outputs.setdefault((frame.channel, frame.target), []).extend(
            {"headers": None} | row | {"place": place} for row, place in zip(rows, places, strict=True)
        )
    contents = {
        name: list(blueprint.defaults.view(graph, name, [store]).all()) if name in graph.stores else store.changes
        for name, store in stores.items()
    }
    return outputs, contents, metrics.drain()
