"""The global tables of a task: all their records of a batch are there before any other record is processed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headrace._core.errors.failure import processing_error
from headrace._core.metrics import Metrics
from headrace._core.task.chunk import Chunk
from headrace._core.task.context import TaskContext
from headrace._core.task.decoding import Decoder, Stretch
from headrace.model.record import Record


class GlobalTables:
    """Takes the records of global topics into the tables, topic by topic.

    They move no time of the task and wake no processor. Every task takes them in, so only one counts them, and tells of
    errors.

    Args:
        context: that of the task.
        decoder: knows the sources of the global topics.
        counted: the topics whose records this task counts.
    """

    def __init__(self, context: TaskContext, decoder: Decoder, counted: Collection[str]) -> None:
        self._context = context
        self._decoder = decoder
        self._counted = counted

    def apply(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Takes in what is of global topics, and returns the other chunks."""
        for topic in self._decoder.sources:
            arrived = [chunk for chunk in chunks if chunk.topic == topic]
            if arrived:
                self._apply(topic, arrived)
        return [chunk for chunk in chunks if chunk.topic not in self._decoder.sources]

    def _apply(self, topic: str, chunks: Sequence[Chunk]) -> None:
        context, counting = self._context, self._context.metrics
        if topic not in self._counted:
            context.metrics, context.errors.muted = Metrics(), True
        try:
            timed = [self._decoder.with_extracted_times(chunk) for chunk in chunks]
            for stretch in self._decoder.in_order(timed):
                self._take(stretch)
        finally:
            context.metrics, context.errors.muted = counting, False

    def _take(self, stretch: Stretch) -> None:
        context, forward = self._context, stretch.source.forward
        keys, values, columns, _ = stretch.records
        for row in range(stretch.start, stretch.stop):
            context.position = stretch.first + row - stretch.start
            try:
                forward(Record(keys[row], values[row], columns.timestamps[row]))
            except Exception as error:
                metadata = context.metadata_at(context.order, context.position)
                raise processing_error(
                    error, context.task_id, metadata, key=keys[row], timestamp_ms=columns.timestamps[row]
                ) from error
