"""Writes raw bytes to embedded topics, including records that `LocalTopics` refuses."""

from __future__ import annotations

import pyarrow as pa

from headrace._runtime.spark.stages import frames
from headrace.topics.embedded.log import TopicLog


def append(directory, topic, records):
    """Appends (key, value, timestamp_ms, partition), keys and values in bytes, in one commit."""
    log = TopicLog(directory)
    with log.writer() as writer:
        for key, value, timestamp_ms, partition in records:
            batch = frames.from_columns([key], [value], [timestamp_ms], None)
            writer.write(
                topic,
                partition,
                batch.append_column("headers", pa.nulls(1, frames.RECORD_SCHEMA.field("headers").type)),
            )
        log.commit(writer.finish())
