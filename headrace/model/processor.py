"""The Processor API: your own operators, with stores, schedules, and a say in where records go and at what time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import Any, NamedTuple, Protocol, Self

from headrace.errors import StreamsError
from headrace.model.record import Record


class PunctuationType(Enum):
    """Which clock a schedule follows: the task's stream time, or the system's wall clock."""

    STREAM_TIME = "stream time"
    WALL_CLOCK_TIME = "wall-clock time"


class Millis(int):
    """A time in milliseconds that may also be called, as Java's getters are: `x` and `x()` are the same number."""

    def __call__(self) -> int:
        return int(self)


class Text(str):
    """A text that may also be called, as Java's getters are: `x` and `x()` are the same text."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


class RecordMetadata(NamedTuple):
    """Where an input record stands; `topic` is `None` where there is none, as in a punctuation. May also be called."""

    topic: str | None
    partition: int
    offset: int

    def __call__(self) -> RecordMetadata:
        return self


@dataclass(frozen=True)
class To:
    """Where a record is forwarded to, and at what time. Immutable.

    Example:
        >>> To.child("audit").with_timestamp(12)
        To(name='audit', timestamp_ms=12)
    """

    name: str | None = None
    timestamp_ms: int | None = None

    @classmethod
    def all(cls) -> Self:
        """All children, in the order they were added."""
        return cls()

    @classmethod
    def child(cls, name: str) -> Self:
        """Only the child of that name: a processor or a sink."""
        return cls(name)

    def with_timestamp(self, timestamp_ms: int) -> Self:
        """The same children, with this timestamp on the record; it wins over the record's own.

        Raises:
            StreamsError: for a negative timestamp.
        """
        if not isinstance(timestamp_ms, int) or timestamp_ms < 0:
            message = f"To.with_timestamp() was given {timestamp_ms!r}; a timestamp is a whole number of 0 or greater."
            raise StreamsError(message)
        return replace(self, timestamp_ms=timestamp_ms)


class Cancellable(Protocol):
    """A schedule, to be ended."""

    def cancel(self) -> None:
        """Ends the schedule, also from inside its callback; calling it again does nothing."""


class ProcessorContext(Protocol):
    """What a processor is given by `init`: its children, its stores, its clocks.

    The facts (`task_id`, the times, `record_metadata`) may be read as attributes or called as methods.
    """

    @property
    def task_id(self) -> Text:
        """`<sub-topology>_<partition>`."""

    @property
    def application_id(self) -> Text:
        """The application's id."""

    @property
    def current_stream_time_ms(self) -> Millis:
        """The highest timestamp of all records the task has taken, the current one included; -1 before the first.

        It survives restarts. Timestamps given to `forward` do not move it.
        """

    @property
    def current_system_time_ms(self) -> Millis:
        """The wall clock; it stands still during a micro-batch, or a step of the test driver."""

    @property
    def record_metadata(self) -> RecordMetadata:
        """The place of the input record that is being processed; topic `None` and -1, -1 in a punctuation."""

    def forward(self, record: Record[Any, Any], to: To | None = None) -> None:
        """Hands a record to the children, depth first; when it returns, they are done with it.

        The timestamp is that of `to`, else the record's own, else the current one: that of the record being
        processed, or the time that fired the punctuation. Headers are the record's own.

        Raises:
            StreamsError: for a child that is not there, and outside `process` and punctuations.
        """

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,  # noqa: A002  the name is Kafka's
        callback: Callable[[int], object],
        time_shift: timedelta | None = None,
    ) -> Cancellable:
        """Calls `callback(timestamp_ms)` at regular times, with the time that fired it.

        With a `time_shift` it is due at `time_shift + n * interval` since the epoch, and goes on so after a restart.
        Without one, stream time counts from the first record seen from now on, which fires it; the wall clock from now.
        A clock that jumps over several due times fires once. Stream time is looked at after every record.

        Raises:
            StreamsError: for an interval below a millisecond, an unknown type, or a callback that is none.
        """

    def state_store(self, name: str) -> Any:
        """A store connected to this processor.

        Raises:
            StateError: for one that is not there, or not connected.
        """

    def commit(self) -> None:
        """Asks for a commit; every micro-batch commits anyway."""


class _Life(ABC):
    """What both kinds of processors share."""

    context: ProcessorContext

    def init(self, context: ProcessorContext) -> None:
        """Called once per task, before its first record; keeps the context unless you define it otherwise."""
        self.context = context

    @abstractmethod
    def process(self, record: Record[Any, Any]) -> None:
        """Handles one record."""

    def close(self) -> None:  # noqa: B027  nothing to let go of is the usual case
        """Called when the test driver is closed. On Spark a task has no end of its own, and it is not called."""


class Processor(_Life):
    """An operator of your own, for `KStream.process()` and `Topology.add_processor()`.

    One lives in every task. Its fields last as long as the task does; what must outlast a restart belongs in a store.
    On Spark, fields must be picklable: leave out others with `__getstate__`, and make them when they are needed.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import run_stream
        >>> class Later(hr.Processor):
        ...     def process(self, record):
        ...         self.context.forward(record)
        ...         self.context.forward(record.with_value("later"), to=hr.To.all().with_timestamp(99))
        >>> run_stream(lambda stream: stream.process(Later), ("a", "now", 10))
        [Record(key='a', value='now', timestamp_ms=10), Record(key='a', value='later', timestamp_ms=99)]
    """


class FixedKeyProcessor(_Life):
    """A processor that keeps the key, for `KStream.process_values()`: it forwards only what it derives from its input.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import run_stream
        >>> class Twice(hr.FixedKeyProcessor):
        ...     def process(self, record):
        ...         self.context.forward(record.with_value(record.value * 2))
        >>> run_stream(lambda stream: stream.process_values(Twice), ("a", 4, 10))
        [Record(key='a', value=8, timestamp_ms=10)]
    """


AnyProcessor = Processor | FixedKeyProcessor
ProcessorFactory = Callable[[], AnyProcessor]
