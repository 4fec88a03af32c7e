"""The global tables of a task: their records of a batch are applied before any other record is processed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headrace._core.errors.failure import uncaught_error
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.metrics import Metrics
from headrace._core.task.chunk import Chunk
from headrace._core.task.context import TaskContext
from headrace._core.task.decoding import Decoder, Stretch
from headrace.model.record import Record


class GlobalTables:
    """Applies the records of global topics to their tables, topic by topic.

    The records do not advance the task's stream time, and no processor gets them except that of a global store. Every
    task applies them, but only one task counts them and reports their errors.

    Args:
        context: the task's context.
        decoder: decodes the global topics.
        counted: the topics whose records this task counts.
    """

    def __init__(self, context: TaskContext, decoder: Decoder, counted: Collection[str]) -> None:
        self._context = context
        self._decoder = decoder
        self._counted = counted

    def apply(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Applies the chunks of global topics, and returns the other chunks."""
        for topic in self._decoder.sources:
            of_topic = [chunk for chunk in chunks if chunk.topic == topic]
            if of_topic:
                self._apply(topic, of_topic)
        return [chunk for chunk in chunks if chunk.topic not in self._decoder.sources]

    def _apply(self, topic: str, chunks: Sequence[Chunk]) -> None:
        context, task_metrics = self._context, self._context.metrics
        if topic not in self._counted:
            context.metrics, context.errors.muted = Metrics(), True
        try:
            timed = [self._decoder.with_extracted_times(chunk) for chunk in chunks]
            for stretch in self._decoder.in_order(timed):
                self._apply_stretch(stretch)
        finally:
            context.metrics, context.errors.muted = task_metrics, False

    def _apply_stretch(self, stretch: Stretch) -> None:
        context, forward = self._context, stretch.source.forward
        keys, values, columns, _ = stretch.records
        for row in range(stretch.start, stretch.stop):
            context.position = stretch.first + row - stretch.start
            try:
                headers = columns.headers[row] if columns.headers else ()
                forward(Record(keys[row], values[row], columns.timestamps[row], headers))
            except USER_ERRORS as error:
                metadata = context.metadata_at(context.order, context.position)
                raise uncaught_error(
                    error, context.task_id, metadata, key=keys[row], timestamp_ms=columns.timestamps[row]
                ) from error
