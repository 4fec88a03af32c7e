"""The sink of a query: workers write the output of a spread batch, the driver commits the batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.committing import BatchPart, commit, write_part
from headrace._runtime.spark.state_directory.log import current_view
from headrace._runtime.spark.topics.backend import SinkTask, backend_of
from headrace._runtime.spark.workers import program
from headrace._runtime.spark.workers.failures import pack_errors

_BATCH_ID = "streaming.sql.batchId"


@dataclass
class PartMessage(WriterCommitMessage):
    """Sends one sink task's part of a batch to the driver."""

    part: BatchPart


class TopicsWriter(DataSourceStreamArrowWriter):
    """Spark's data source writer, for all output topics of a query.

    It writes nothing for a fused batch: the Spark task that runs all stages of such a batch commits it by itself.
    """

    def __init__(self, packed_plan: bytes) -> None:
        self._packed_plan = packed_plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with pack_errors():
            plan, context = program.load(self._packed_plan), TaskContext.get()
            received = [frame for batch in iterator for frame in frames.from_rows(batch)]
            batch_id = context.getLocalProperty(_BATCH_ID) if context else None
            step = None if batch_id is None else int(batch_id) + 1
            number, attempt = (context.partitionId(), context.attemptNumber()) if context else (0, 0)
            task = SinkTask(number, step=step, repeated=attempt > 0)
            return PartMessage(write_part(plan, backend_of(plan), received, task))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        with pack_errors():
            parts = [message.part for message in messages if isinstance(message, PartMessage)]
            batch = next((part.batch for part in parts if part.batch is not None), None)
            if batch is not None:
                plan = program.load(self._packed_plan)
                commit(plan, backend_of(plan), current_view(plan, batch.batch - 1), batch, parts)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Deletes nothing: Spark also calls this if a step after the commit of the batch fails."""
