"""Runs a join of two streams on its batch form or on the record path, to test that both give the same results."""

from __future__ import annotations

import headrace as hr
from headrace._core.metrics import Metrics
from headrace._core.task.chunk import Chunk
from headrace._core.task.order import Order
from headrace._runtime.assemble import blueprints
from headrace._runtime.spark.planning.plan import make_plan
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.collector import FrameCollector
from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore
from headrace.model.stores.specs import WindowSpec


def joined(method, key_serde, windows, value_serde, *, mapped):
    builder = hr.StreamsBuilder()
    left, right = (builder.stream(topic, key_serde=key_serde, value_serde=value_serde) for topic in ("in", "other"))
    pairs = getattr(left, method)(right, lambda left, right: [left, right], within=windows, name="j", store="s")
    (pairs.map_values(repr) if mapped else pairs).to("out", key_serde=key_serde)
    return builder.build()


def in_bytes(records, key_serde, value_serde):
    """Serializes keys and values; a value of 3 becomes the null of JSON."""
    return [
        (key_serde.serialize(key), b" null" if value == 3 else value_serde.serialize(value), timestamp_ms, headers)
        for key, value, timestamp_ms, headers in records
    ]


def run_join(topology, batches, key_serde, value_serde, *, columnar):
    """Runs batches of chunks of both topics, each batch on the state that the previous one has committed.

    Returns the output, the contents of the stores, and the counters. If `value_serde` is `None`, keys and values are
    serialized already.
    """
    config = hr.StreamsConfig(application_id="t", topics_dir="unused")
    plan = make_plan(topology._graph, config, {"in": 1, "other": 1}, spark_partitions=1, instance="i", epoch=1)
    (blueprint,) = blueprints(topology._graph, config)
    durable = {name: MemoryStore() for name in blueprint.stores}
    metrics, written, offsets = Metrics(), [], {"in": 0, "other": 0}
    for batch in batches:
        stores = {name: OverlayStore(store) for name, store in durable.items()}
        collector = FrameCollector(plan, 0, 0, 0)
        task = blueprint.make_task(0, stores, collector, metrics, plan.places, columnar=columnar)
        assert bool(task._joins) is columnar
        collector.context = task.context
        chunks = []
        for topic, part in batch:
            columns = part if value_serde is None else in_bytes(part, key_serde, value_serde)
            columns = frames.from_columns(*zip(*columns, strict=True))
            times = columns.column("timestamp").to_numpy()
            order = Order.of_partition(plan.places.index((topic, 0)), offsets[topic], times)
            offsets[topic] += len(part)
            chunks.append(Chunk(topic, order, times, lambda c=columns: frames.to_columns(c), lambda c=columns: c))
        for _ in task.process(chunks):
            written += collector.drain()
        written += collector.finish()
        for name, store in stores.items():
            durable[name].put_many(store.changes.items())
    outputs = [row for frame in written for row in frames.decode(frame.payload).to_pylist()]
    specs = topology._graph.stores
    contents = {
        # Expired entries may be removed already or not.
        name: list(blueprint.defaults.view(topology._graph, name, [store]).all())
        if isinstance(specs.get(name), WindowSpec)
        else dict(store.range(None, None))
        for name, store in durable.items()
    }
    return outputs, contents, metrics.drain()
