"""`TestInputTopic`: pipes records into a topic that the topology reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, overload

from headrace._runtime.local_task import Message
from headrace.errors import SerdeError, StreamsError
from headrace.model.checks import checked_headers, checked_timestamp
from headrace.model.record import Headers, Record
from headrace.model.type_variables import TypeVar
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.testing.driver import TopologyTestDriver

K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)

_MILLISECOND = timedelta(milliseconds=1)
_MISSING: Any = object()


class TestInputTopic(Generic[K, V]):
    """A topic to pipe records into; `driver.input_topic(name)` returns it.

    A record that is piped without a timestamp gets the time of the topic's clock, which then advances by
    `auto_advance`. A topic without `start_timestamp_ms` and `auto_advance` has no clock; the record then gets the
    driver's wall-clock time. Timestamps and headers are checked before the record is processed, as on Spark.

    Example:
        >>> from datetime import timedelta
        >>> import headrace as hr
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = hr.StreamsBuilder()
        >>> builder.stream("in").to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     topic = driver.input_topic("in", start_timestamp_ms=100, auto_advance=timedelta(milliseconds=10))
        ...     topic.pipe("a", "first")
        ...     topic.pipe_values(["second", "third"])
        ...     topic.pipe(hr.Record("a", "early", 7))
        ...     [(record.value, record.timestamp_ms) for record in driver.output_topic("out")]
        [('first', 100), ('second', 110), ('third', 120), ('early', 7)]
    """

    __test__ = False

    def __init__(
        self,
        driver: TopologyTestDriver,
        name: str,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        start_timestamp_ms: int | None = None,
        auto_advance: timedelta = timedelta(0),
    ) -> None:
        self._driver = driver
        self._name = name
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._advance_ms = self._milliseconds(auto_advance, "auto_advance")
        self._clock_ms = None if start_timestamp_ms is None else self._start(start_timestamp_ms)
        if self._clock_ms is None and self._advance_ms:
            self._clock_ms = driver._open().wall_clock_ms

    def __repr__(self) -> str:
        return f"TestInputTopic({self._name!r})"

    @overload
    def pipe(self, record: Record[K | None, V | None], /) -> None: ...

    @overload
    def pipe(
        self,
        key: K | None,
        value: V | None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        partition: int | None = None,
    ) -> None: ...

    def pipe(
        self,
        key: Any,
        value: Any = _MISSING,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        partition: int | None = None,
    ) -> None:
        """Writes one record to the topic, processes it with everything that results from it, and commits.

        Pass a `Record`, or its parts. A negative timestamp is allowed: the timestamp extractor decides what happens, by
        default an error that goes to `deserialization_exception_handler`.

        Args:
            key: the key; `None` for a record without one.
            value: the value; `None` deletes the key's row in a table.
            timestamp_ms: the timestamp; default: the time of the topic's clock, else the driver's wall-clock time.
            headers: pairs of a name and bytes or `None`.
            partition: the partition. Default: by Kafka's rule that of the key; records without a key go to the
                partitions in turn.

        Raises:
            StreamsError: for a timestamp or headers that no topic can store.
            TopicError: for a partition that the topic does not have.
            SerdeError: for a key or value that the serdes of this object cannot encode.
            ProcessingError: if the topology fails. The record then changes nothing, and the driver can continue.
        """
        if value is not _MISSING:
            self._pipe(key, value, timestamp_ms, headers, partition)
            return
        if not isinstance(key, Record):
            message = f"Topic {self._name!r}: pipe() needs a Record, or a key and a value; got only {key!r}."
            raise StreamsError(message)
        self._pipe(key.key, key.value, key.timestamp_ms, key.headers, key.partition)

    def pipe_values(
        self, values: Iterable[V | None], *, start_timestamp_ms: int | None = None, advance: timedelta | None = None
    ) -> None:
        """Pipes records without a key, one after the other.

        Args:
            values: their values.
            start_timestamp_ms: timestamp of the first record. Default: the records get their timestamps as in `pipe`.
            advance: time between two successive records; needs `start_timestamp_ms`. Default: 0.
        """
        self.pipe_key_values(
            ((None, value) for value in values), start_timestamp_ms=start_timestamp_ms, advance=advance
        )

    def pipe_key_values(
        self,
        entries: Iterable[tuple[K | None, V | None]],
        *,
        start_timestamp_ms: int | None = None,
        advance: timedelta | None = None,
    ) -> None:
        """Pipes records one after the other.

        Args:
            entries: pairs of a key and a value.
            start_timestamp_ms: timestamp of the first record. Default: the records get their timestamps as in `pipe`.
            advance: time between two successive records; needs `start_timestamp_ms`. Default: 0.
        """
        if start_timestamp_ms is None and advance is not None:
            message = f"Topic {self._name!r}: advance={advance!r} needs start_timestamp_ms=, the first timestamp."
            raise StreamsError(message)
        step_ms = 0 if advance is None else self._milliseconds(advance, "advance")
        at_ms = None if start_timestamp_ms is None else self._start(start_timestamp_ms)
        for key, value in entries:
            self._pipe(key, value, at_ms, (), None)
            at_ms = None if at_ms is None else at_ms + step_ms

    def pipe_records(self, records: Iterable[Record[K | None, V | None]]) -> None:
        """Pipes records one after the other, each with its own timestamp, headers and partition if it has them."""
        for record in records:
            self.pipe(record)

    def advance_time(self, duration: timedelta) -> None:
        """Advances the clock of the topic. A topic without one first gets a clock with the driver's wall-clock time."""
        step_ms = self._milliseconds(duration, "advance_time()")
        runtime = self._driver._open()
        self._clock_ms = (runtime.wall_clock_ms if self._clock_ms is None else self._clock_ms) + step_ms

    def _pipe(
        self, key: object, value: object, timestamp_ms: int | None, headers: object, partition: int | None
    ) -> None:
        runtime = self._driver._open()
        subject = f"Topic {self._name!r}"
        if timestamp_ms is None:
            timestamp_ms = runtime.wall_clock_ms if self._clock_ms is None else self._clock_ms
            self._clock_ms = None if self._clock_ms is None else self._clock_ms + self._advance_ms
        timestamp_ms, pairs = checked_timestamp(timestamp_ms, subject), checked_headers(headers, subject)
        key_bytes, pairs = self._encode("key", self._key_serde, key, pairs)
        value_bytes, pairs = self._encode("value", self._value_serde, value, pairs)
        runtime.pipe(self._name, partition, Message(key_bytes, value_bytes, timestamp_ms, pairs))

    def _encode(self, part: str, serde: Serde[Any], data: object, headers: Headers) -> tuple[bytes | None, Headers]:
        try:
            return serde.serialize_with_headers(data, headers)
        except SerdeError as error:
            message = f"Topic {self._name!r}, {part} of the piped record: {error}"
            raise SerdeError(message) from error

    def _start(self, timestamp_ms: object) -> int:
        start_ms = checked_timestamp(timestamp_ms, f"Topic {self._name!r}: start")
        if start_ms < 0:
            message = f"Topic {self._name!r}: start_timestamp_ms is {start_ms}; it must be 0 or greater."
            raise StreamsError(message)
        return start_ms

    def _milliseconds(self, duration: object, argument: str) -> int:
        if not isinstance(duration, timedelta) or duration < timedelta(0):
            message = f"Topic {self._name!r}: {argument} was given {duration!r}; it takes a timedelta of 0 or more."
            raise StreamsError(message)
        return duration // _MILLISECOND
